/** A small run with real numbers in it: rows are softmaxed, so each sums to 1. */
export const floatToHalf = (value) => {
  if (value === 0) return 0
  const sign = value < 0 ? 0x8000 : 0
  let size = Math.abs(value)
  let exponent = Math.max(-14, Math.floor(Math.log2(size)))
  let fraction = Math.round((size / 2 ** exponent - (exponent === -14 && size < 2 ** -14 ? 0 : 1)) * 1024)
  if (size < 2 ** -14) return sign | Math.round(size / 2 ** -24)
  if (fraction === 1024) {
    exponent += 1
    fraction = 0
  }
  return sign | ((exponent + 15) << 10) | fraction
}

export const packHalves = (values) =>
  Buffer.from(Uint16Array.from(values, floatToHalf).buffer).toString("base64")

export function smallPayload({ nPrompt = 3, nSteps = 4, stop = "steps", id = "run-a", words = "abcdefghijklmnop" } = {}) {
  const nRows = nPrompt + nSteps
  const heads = 4
  const dots = []
  const weights = []
  for (let head = 0; head < heads; head++) {
    for (let row = 0; row < nRows; row++) {
      const scores = Array.from({ length: row + 1 }, (_, c) => Math.cos(head + 2 * row + 3 * c))
      const exps = scores.map((s) => Math.exp(s))
      const sum = exps.reduce((a, b) => a + b)
      dots.push(...scores.map((s) => s * 2))
      weights.push(...exps.map((e) => e / sum))
    }
  }
  const cache = Array.from({ length: 2 * nRows * 2 }, (_, i) => Math.sin(i))
  return {
    format: 1, id, recorded: false, dtype: "float32",
    model: { n_layers: 2, n_heads: 2, n_kv_heads: 1, head_dim: 2, max_seq_len: 16 },
    n_prompt: nPrompt, n_rows: nRows, scale: 0.5,
    tokens: Array.from({ length: nRows + 1 }, (_, i) => ({ label: words[i], id: words.charCodeAt(i), text: words[i], source: i < nPrompt ? "prompt" : "generated" })),
    dots: packHalves(dots), weights: packHalves(weights), keys: packHalves(cache), values: packHalves(cache.slice().reverse()),
    heads: [{ layer: 1, head: 0, name: "previous token", sentence: "", score: 0.9 }, { layer: 1, head: 0, name: "sink", sentence: "", score: 0.3 }],
    steps: Array.from({ length: nSteps + 1 }, (_, i) => ({ caption: `step ${i}`, panel: [], top: [], shapes: {}, text: [], chosen: words[nPrompt + i] })),
    stop: { reason: stop, sentence: "It ends." }, notes: [],
  }
}

/** A pen that writes down what it is asked to draw. */
export class RecordingPen {
  constructor() {
    this.strokes = []
    for (const name of ["erase", "rect", "box", "line", "text", "clip", "unclip", "image", "shift", "unshift"]) {
      this[name] = (...args) => this.strokes.push([name, ...args])
    }
  }

  of(name) {
    return this.strokes.filter(([kind]) => kind === name)
  }
}

export const THEME = {
  type: 14, sans: "sans", mono: "mono", ground: "#ffffff", ink: "#000000", soft: "#eeeeee", muted: "#666666", line: "#cccccc",
  faint: "#dddddd", new: "#0072b2", "new-text": "#0068a3", "cached-text": "#4f5f6e", "k-text": "#00714f", "v-text": "#9a3f74", key: "light",
}

/** Text of a fixed width per character, as node has no canvas. */
export function fakeCanvas() {
  globalThis.document ??= {
    createElement: () => ({ getContext: () => ({ font: "", measureText: (text) => ({ width: 8 * text.length }) }) }),
  }
}
