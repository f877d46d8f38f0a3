// @ts-check
/** The words and numbers beside the picture, of one step: shapes, counts, proof, text, next tokens. */
import { el, setAttr, setText } from "./dom.mjs"

/** The shapes of one step as boxes in the order of the computation. */
const TERMS = [
  ["q", "q", "q"], ["·"], ["k", "Kᵀ", "k"], ["="], ["scores", "scores → weights", "weights"],
  ["·"], ["v", "V", "v"], ["="], ["output", "output", "output"],
]

/** "(12, 32)" read the other way round, for a transposed matrix. @param {string} shape */
export function transposed(shape) {
  const match = /^\(\s*([^,]+),\s*([^)]+)\)$/.exec(shape)
  return match ? `(${match[2].trim()}, ${match[1].trim()})` : shape
}

/** Size of a box for (rows, cols): long sides grow with the context, short ones are a strip.
 * @param {string} shape @param {number} mostRows @param {number} headDim */
export function boxSize(shape, mostRows, headDim) {
  const [rows, cols] = (shape.match(/[\d,]+(?=[,)])/g) ?? ["1", "1"]).map((n) => Number(n.replace(/\D/g, "")) || 1)
  const side = (/** @type {number} */ n) => {
    if (n === 1) return 9
    if (n === headDim) return 34
    return 12 + 42 * Math.min(1, n / Math.max(1, mostRows))
  }
  return { width: side(cols), height: side(rows) }
}

/** The newest token stays in sight, however little room the text has. @param {HTMLElement} node */
function keepEnd(node) {
  node.scrollTop = node.scrollHeight
  setAttr(node, "data-cut", String(node.scrollTop > 0))
}

export class Panel {
  /** @param {HTMLElement} host @param {HTMLElement} side where the next tokens go @param {AbortSignal} signal */
  constructor(host, side, signal) {
    this.kind = el("span", { class: "onr-kind" })
    this.step = el("span")
    this.shapes = el("div", { class: "onr-shapes" })
    this.tiles = el("dl", { class: "onr-tiles" })
    this.why = el("p", { class: "onr-proof-why" })
    this.badge = el("summary")
    this.proof = el("details", { class: "onr-proof", "data-state": "checking", "data-onr": "proof" }, this.badge, this.why)
    this.text = el("p", { class: "onr-text", dir: "auto", "data-onr": "text" })
    this.other = el("p", { class: "onr-text onr-other", dir: "auto", hidden: true, "data-onr": "other-text" })
    host.append(el("h3", { class: "onr-h" }, this.step, this.kind), this.shapes, this.tiles, this.proof, this.text, this.other)
    this.top = el("ol", { class: "onr-top" })
    side.append(el("section", { class: "onr-next-tokens" }, el("h3", { class: "onr-h" }, "Likeliest next tokens"), this.top))
    this.shown = /** @type {any} */ (null)
    // What stands above may grow after the text was written, as the proof does when it arrives.
    const observer = new ResizeObserver(() => [this.text, this.other].forEach(keepEnd))
    observer.observe(this.text)
    signal.addEventListener("abort", () => observer.disconnect())
  }

  /**
   * @param {import("./run.mjs").Run} run @param {number} step @param {number} phase 0 land to 3 rest
   * @param {{ run: import("./run.mjs").Run, step: number }|null} other @param {Record<string, string>} labels
   */
  paint(run, step, phase, other, labels) {
    const frame = run.frame(step)
    if (this.shown !== frame) {
      this.shown = frame
      this.showHeading(run, step, frame.panel)
      this.showShapes(run, frame.shapes, step)
      this.showTiles(frame.panel)
      this.showTop(frame.top)
    }
    this.showText(this.text, frame.text, other ? labels.run : "")
    this.other.hidden = !other
    if (other) this.showText(this.other, other.run.frame(other.step).text, labels.compare, other.step < step ? other.run.payload.stop.sentence : "")
    // The chosen token shows once softmax has settled: the row chooses, then the word appears.
    for (const node of [this.text, this.other, this.top]) setAttr(node, "data-phase", String(phase))
  }

  /** @param {import("./run.mjs").Run} run @param {number} step @param {any[]} tiles */
  showHeading(run, step, tiles) {
    const kinds = [...new Set(tiles.map((tile) => tile.kind))]
    this.oneKind = kinds.length === 1 ? kinds[0] : ""
    setText(this.step, step === 0 ? "Prefill, one head" : `Decode step ${step}, one head`)
    setText(this.kind, this.oneKind)
    this.kind.hidden = !this.oneKind
    setAttr(this.kind, "title", this.oneKind ? `All numbers below: ${this.oneKind}` : null)
  }

  /** @param {import("./run.mjs").Run} run @param {Record<string, string>} shapes @param {number} step */
  showShapes(run, shapes, step) {
    const nodes = TERMS.map(([name, title, role]) => {
      if (!title) return el("span", { class: "onr-op" }, name)
      const shape = name === "k" ? transposed(shapes[name]) : shapes[name]
      const { width, height } = boxSize(shape, run.nRows, run.model.head_dim)
      const fresh = step > 0 && (name === "k" || name === "v")
      const box = el("span", { class: `onr-box onr-${role}`, "data-fresh": fresh ? name : null })
      box.style.width = `${width}px`
      box.style.height = `${height}px`
      return el("span", { class: "onr-term" },
        el("span", { class: "onr-term-name" }, title), el("span", { class: "onr-term-box" }, box), el("code", {}, shape))
    })
    this.shapes.replaceChildren(...nodes)
  }

  /** @param {any[]} tiles */
  showTiles(tiles) {
    this.tiles.replaceChildren(...tiles.map((tile) =>
      el("div", { class: "onr-tile", "data-id": tile.id, title: `${tile.label}: ${tile.value} ${tile.beside} (${tile.kind})` },
        el("dt", {}, tile.label, this.oneKind ? null : el("span", { class: "onr-kind" }, tile.kind)),
        el("dd", {}, el("span", { class: "onr-value" }, tile.value), tile.beside ? el("span", { class: "onr-beside" }, tile.beside) : null))))
  }

  /** @param {any[]} top */
  showTop(top) {
    const most = Math.max(...top.map((t) => t.prob), 1e-9)
    this.top.replaceChildren(...top.map((t) => {
      const row = el("li", { class: "onr-token", "data-chosen": t.chosen },
        el("bdi", { class: "onr-token-label", title: t.label }, t.label),
        el("span", { class: "onr-token-bar" }, el("i")), el("span", { class: "onr-token-prob" }, t.prob_text))
      row.style.setProperty("--share", String(t.prob / most))
      return row
    }))
  }

  /** @param {HTMLElement} node @param {[string, string][]} parts @param {string} label @param {string} [end] */
  showText(node, parts, label, end = "") {
    const key = JSON.stringify([parts, label, end])
    if (node.dataset.key === key) return
    node.dataset.key = key
    node.replaceChildren(
      ...(label ? [el("span", { class: "onr-text-label" }, label)] : []),
      ...parts.map(([text, role]) => el("span", { class: `onr-${role}-text` }, text)),
      ...(end ? [el("span", { class: "onr-text-end" }, ` ${end}`)] : []))
    keepEnd(node)
  }

  /** The check of this step: pending, holding, or failing with its numbers. @param {any} proof payload or null @param {number} step */
  showProof(proof, step) {
    const found = proof?.steps?.[step]
    const state = !proof ? "checking" : !found ? "none" : found.ok ? "ok" : "failed"
    const key = JSON.stringify([state, found, proof?.reason])
    if (this.proof.dataset.key === key) return
    this.proof.dataset.key = key
    setAttr(this.proof, "data-state", state)
    this.proof.hidden = state === "none"
    const title = found ? `${found.ok ? "✓" : "✗"} ${found.title}` : "Same as without a cache? checking…"
    setText(this.why, proof?.reason ?? "")
    this.badge.replaceChildren(el("strong", {}, title), el("span", { class: "onr-proof-detail" }, found?.detail ?? ""))
  }
}
