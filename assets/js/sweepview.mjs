// @ts-check
/** The window on the sweep: two canvases (what is still, what moves), and the read-out of single weights. */
import { el, setText } from "./dom.mjs"
import { sizeCanvas } from "./draw.mjs"
import { CanvasPen } from "./pen.mjs"
import { signedText } from "./sweepdata.mjs"
import { progressAt, weightAt } from "./sweeppicture.mjs"

/** @type {Record<string, [number, number]>} */
const CURSOR_MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }

export class SweepView {
  /** @param {HTMLElement} host @param {{ repaint: () => void, signal: AbortSignal }} options `repaint` asks for a frame */
  constructor(host, { repaint, signal }) {
    this.repaint = repaint
    /** @type {import("./sweeppicture.mjs").SweepPainter|null} */
    this.painter = null
    /** @type {{ row: number, column: number }|null} */
    this.cursor = null
    this.step = 0
    this.stillKey = /** @type {any} */ (null)
    const canvas = () => /** @type {HTMLCanvasElement} */ (el("canvas", { "aria-hidden": "true" }))
    ;[this.still, this.moving] = [canvas(), canvas()]
    this.tip = el("div", { class: "onr-tip", hidden: true })
    this.live = el("p", { class: "onr-sr", role: "status", "aria-live": "polite", "data-onr": "cell" })
    this.element = el("div", { class: "onr-sweep-picture", tabindex: "0", role: "group", "data-onr-arrows": "" }, this.still, this.moving, this.tip, this.live)
    host.append(this.element)
    const observer = new ResizeObserver(() => repaint())
    observer.observe(this.element)
    signal.addEventListener("abort", () => observer.disconnect())
    this.listen(signal)
  }

  /** @param {AbortSignal} signal */
  listen(signal) {
    const on = (/** @type {string} */ type, /** @type {any} */ act) => this.element.addEventListener(type, act, { signal })
    const point = (/** @type {PointerEvent} */ event) => this.look(this.at(event))
    on("pointermove", (/** @type {PointerEvent} */ event) => event.pointerType === "mouse" && point(event))
    on("click", point)
    on("pointerleave", (/** @type {PointerEvent} */ event) => event.pointerType === "mouse" && this.look(null))
    // A click must not take the keyboard from the presenter: only Tab focuses the weights.
    on("mousedown", (/** @type {Event} */ event) => event.preventDefault())
    on("blur", () => this.look(null))
    on("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event))
  }

  /** @param {import("./sweeppicture.mjs").SweepPainter} painter @param {string} label what a screen reader says */
  setPainter(painter, label) {
    this.painter = painter
    this.cursor = null
    this.element.setAttribute("aria-label", label)
  }

  /** A font has come: what was written with another one is written again. */
  forget() {
    this.stillKey = null
  }

  /** One frame; returns what it shows, or nothing where there is no room yet.
   * @param {number} step @param {number} ms @param {number} stepMs */
  paint(step, ms, stepMs) {
    const { clientWidth: width, clientHeight: height } = this.element
    if (!this.painter || width < 40) return null
    this.step = step
    this.lay = this.painter.layout({ width, height })
    this.paintStill(width, height)
    const pen = this.penOf(this.moving, width, height)
    pen.erase(0, 0, width, height)
    const now = progressAt(step, ms, stepMs, this.painter.sweep.dIn)
    this.painter.paintMoving(pen, this.lay, now)
    if (this.cursor) this.painter.paintCursor(pen, this.lay, this.cursor)
    this.showTip()
    return now
  }

  /** The canvas below, which is painted only for another view or size. @param {number} width @param {number} height */
  paintStill(width, height) {
    const key = [width, height, devicePixelRatio || 1].join("|")
    if (this.stillKey?.painter === this.painter && this.stillKey.key === key) return
    this.stillKey = { painter: this.painter, key }
    const pen = this.penOf(this.still, width, height)
    pen.erase(0, 0, width, height)
    this.painter?.paintStill(pen, /** @type {any} */ (this.lay))
  }

  /** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
  penOf(canvas, width, height) {
    const dpr = devicePixelRatio || 1
    sizeCanvas(canvas, width, height, dpr)
    return new CanvasPen(/** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")), dpr)
  }

  /** @param {MouseEvent} event */
  at(event) {
    if (!this.lay || !this.painter) return null
    const box = this.element.getBoundingClientRect()
    return weightAt(this.lay, this.painter.sweep.dIn, event.clientX - box.left, event.clientY - box.top)
  }

  /** @param {{ row: number, column: number }|null} cell */
  look(cell) {
    if (cell?.row === this.cursor?.row && cell?.column === this.cursor?.column) return
    this.cursor = cell
    this.repaint()
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const move = CURSOR_MOVES[event.key]
    if (event.ctrlKey || event.metaKey || event.altKey || !this.painter) return
    if (event.key === "Escape") return this.element.blur()
    if (!move) return
    const { dIn, dOut } = this.painter.sweep
    const { row, column } = this.cursor ?? { row: -move[0], column: Math.max(0, this.step - 1) - move[1] }
    const within = (/** @type {number} */ value, /** @type {number} */ n) => Math.min(n - 1, Math.max(0, value))
    this.cursor = { row: within(row + move[0], dIn), column: within(column + move[1], dOut) }
    const { title, lines } = this.describe(this.cursor)
    setText(this.live, [title, ...lines].join(", "))
    this.repaint()
    event.preventDefault()
    event.stopPropagation()
  }

  /** What stands at a place: the weight, the number it meets and their product, or an output.
   * @param {{ row: number, column: number }} at */
  describe({ row, column }) {
    const { sweep, view } = /** @type {import("./sweeppicture.mjs").SweepPainter} */ (this.painter)
    const { dtype } = view
    if (row < 0) {
      const done = this.step > column
      return { title: `output ${column}`, lines: [done ? `Σ x·w = ${signedText(sweep.runningSum(dtype, column, sweep.dIn))}` : "not read yet"] }
    }
    const { value, code, scale } = sweep.weight(dtype, row, column)
    const w = code === null ? signedText(value) : `${String(code).replace("-", "−")} × ${scale?.toPrecision(3)} = ${signedText(value)}`
    return {
      title: `row ${row}, column ${column}`,
      lines: [`w = ${w}`, `x = ${signedText(sweep.x[row])}`, `x · w = ${signedText(sweep.x[row] * value)}`],
    }
  }

  showTip() {
    this.tip.hidden = !this.cursor
    if (!this.cursor || !this.lay) return
    const { title, lines } = this.describe(this.cursor)
    const key = [title, ...lines].join("\n")
    if (this.tip.dataset.key !== key) {
      this.tip.dataset.key = key
      this.tip.replaceChildren(el("strong", {}, title), ...lines.map((line) => el("div", { class: "onr-tip-line" }, line)))
    }
    const { w, out, columnWidth, width, height } = this.lay
    const x = w.x + (this.cursor.column + 0.5) * columnWidth
    const y = this.cursor.row < 0 ? out.y : w.y + ((this.cursor.row + 0.5) / /** @type {any} */ (this.painter).sweep.dIn) * w.height
    const left = x + 14 + this.tip.offsetWidth <= width ? x + 14 : Math.max(0, x - 14 - this.tip.offsetWidth)
    const top = Math.min(Math.max(0, y - this.tip.offsetHeight / 2), Math.max(0, height - this.tip.offsetHeight))
    this.tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`
  }
}
