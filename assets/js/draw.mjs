// @ts-check
/** Numbers, colours and text fitting that every picture shares. */

/** Index of (row, col) in a packed, row-major lower triangle. @param {number} row @param {number} col */
export const triIndex = (row, col) => (row * (row + 1)) / 2 + col

/** Number of cells in the lower triangle of n rows. @param {number} n */
export const triSize = (n) => (n * (n + 1)) / 2

/** One IEEE half as a number. @param {number} bits */
export function halfToFloat(bits) {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction ? NaN : sign * Infinity
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

/** Little-endian halves from base64. @param {string} base64 @returns {Uint16Array} */
export function decodeHalves(base64) {
  const binary = atob(base64)
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return new Uint16Array(bytes.buffer, 0, bytes.length >> 1)
}

/** @type {Float32Array|null} */
let halfTable = null

/** A stretch of halves as floats, by table. @param {Uint16Array} halves @param {number} start @param {number} length */
export function halvesToFloats(halves, start, length) {
  if (!halfTable) {
    halfTable = new Float32Array(65536)
    for (let bits = 0; bits < 65536; bits++) halfTable[bits] = halfToFloat(bits)
  }
  const floats = new Float32Array(length)
  for (let i = 0; i < length; i++) floats[i] = halfTable[halves[start + i]]
  return floats
}

/** Decades shown by the log scale: weights of 1e-4 and below look alike. */
export const LOG_DECADES = 4

/**
 * How strong a weight in [0, 1] looks on one of the three scales, again in [0, 1].
 * @param {number} weight @param {string} scale "linear", "sqrt" or "log"
 */
export function strength(weight, scale) {
  const w = Math.min(1, Math.max(0, weight))
  if (scale === "linear") return w
  if (scale === "log") return w > 0 ? Math.max(0, 1 + Math.log10(w) / LOG_DECADES) : 0
  return Math.sqrt(w)
}

/** @param {string} css "#rgb", "#rrggbb" or "rgb(…)" @returns {[number, number, number]} */
export function parseColor(css) {
  const text = css.trim()
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(text)
  if (short) return /** @type {any} */ (short.slice(1, 4).map((h) => parseInt(h + h, 16)))
  const long = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(text)
  if (long) return /** @type {any} */ (long.slice(1, 4).map((h) => parseInt(h, 16)))
  const list = /^rgba?\(([^)]*)\)/.exec(text)
  if (list) {
    const parts = list[1].split(/[\s,/]+/).filter(Boolean).map(Number)
    if (parts.length >= 3) return [parts[0], parts[1], parts[2]]
  }
  return [128, 128, 128]
}

/** @param {number[]} from @param {number[]} to @param {number} share */
export const mixColor = (from, to, share) =>
  `rgb(${from.map((c, i) => Math.round(c + (to[i] - c) * share)).join(",")})`

/** Relative luminance below one half of grey. @param {number[]} rgb */
export const isDark = (rgb) => 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2] < 110

/** Steps of a colour ramp; cells look their colour up instead of mixing it. */
export const RAMP_STEPS = 128
/** Share of the full colour that a computed cell of weight 0 still has: it exists. */
const RAMP_FLOOR = 0.05

/** @param {string} ground @param {string} full @param {number} [floor] @returns {string[]} */
export function colorRamp(ground, full, floor = RAMP_FLOOR) {
  const [a, b] = [parseColor(ground), parseColor(full)]
  return Array.from({ length: RAMP_STEPS }, (_, i) =>
    mixColor(a, b, floor + ((1 - floor) * i) / (RAMP_STEPS - 1)),
  )
}

/** @param {string[]} ramp @param {number} share in [0, 1] */
export const rampColor = (ramp, share) =>
  ramp[Math.round(Math.min(1, Math.max(0, share)) * (ramp.length - 1))]

/** Colours that the stylesheet derives from the palette, by the name used in drawing code. */
const COLOR_NAMES = [
  "ground", "soft", "ink", "muted", "line", "faint", "new", "new-text", "new-full", "cached",
  "cached-text", "cached-full", "k-text", "v-text", "limit-text", "negative", "positive",
]

/**
 * Mark the element dark or light by the ground that Streamlit gives it, then read all colours.
 * @param {HTMLElement} host
 * @returns {Record<string, any>} colours, ramps, fonts and a `key` that changes with them
 */
export function readTheme(host) {
  const dark = isDark(parseColor(getComputedStyle(host).getPropertyValue("--st-background-color") || "#fff"))
  host.classList.toggle("onr-dark", dark)
  host.classList.toggle("onr-light", !dark)
  const style = getComputedStyle(host)
  const read = (/** @type {string} */ name) => style.getPropertyValue(name).trim()
  /** @type {Record<string, any>} */
  const theme = { dark }
  for (const name of COLOR_NAMES) theme[name] = read(`--c-${name}`)
  theme.sans = read("--f-sans") || "sans-serif"
  theme.mono = read("--f-mono") || "monospace"
  theme.type = parseFloat(read("--f-label")) || 14
  theme.key = JSON.stringify(theme)
  theme.newRamp = colorRamp(theme.ground, theme["new-full"])
  theme.cachedRamp = colorRamp(theme.ground, theme["cached-full"])
  theme.negativeRamp = colorRamp(theme.ground, theme.negative, 0)
  theme.positiveRamp = colorRamp(theme.ground, theme.positive, 0)
  return theme
}

/** User-perceived characters, so that an emoji or an accent is never cut in half. @param {string} text */
export function graphemes(text) {
  if (typeof Intl === "undefined" || !("Segmenter" in Intl)) return Array.from(text)
  return Array.from(new Intl.Segmenter().segment(text), (part) => part.segment)
}

/**
 * Shorten text with an ellipsis until `fits` accepts it.
 * @param {string} text @param {(candidate: string) => boolean} fits
 */
export function elide(text, fits) {
  if (fits(text)) return text
  const parts = graphemes(text)
  let low = 0
  let high = parts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (fits(parts.slice(0, middle).join("") + "…")) low = middle
    else high = middle - 1
  }
  return parts.slice(0, low).join("") + "…"
}

/**
 * Give a canvas its size in device pixels; setting a size clears it, so only on change.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @param {number} dpr
 */
export function sizeCanvas(canvas, width, height, dpr) {
  const [w, h] = [Math.max(1, Math.round(width * dpr)), Math.max(1, Math.round(height * dpr))]
  if (canvas.width === w && canvas.height === h) return false
  canvas.width = w
  canvas.height = h
  canvas.style.width = `${w / dpr}px`
  canvas.style.height = `${h / dpr}px`
  return true
}

/** Four significant digits without an exponent where that is readable. @param {number} value */
export function shortNumber(value) {
  if (!Number.isFinite(value)) return value === -Infinity ? "−∞" : "not a number"
  const size = Math.abs(value)
  if (size === 0) return "0"
  if (size < 0.0001) return value.toExponential(1).replaceAll("-", "−")
  const text = size >= 1000 ? value.toFixed(0) : value.toPrecision(size < 0.001 ? 2 : 4)
  return text.replace("-", "−")
}
