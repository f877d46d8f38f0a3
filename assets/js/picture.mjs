// @ts-check
/**
 * The window through which a painter's picture is seen: two canvases (what is still, what moves)
 * pinned inside a native scroller, with zoom, cell read-out by pointer, and a cell cursor by keyboard.
 */
import { el, setText } from "./dom.mjs"
import { sizeCanvas } from "./draw.mjs"
import { CanvasPen } from "./pen.mjs"

const ZOOM_STEP = 1.3
const MAX_ZOOM_CELL = 64

/** The cell cursor after an arrow key, kept inside what exists.
 * @param {{ row: number, column: number }} cell @param {string} key @param {number} rows @param {(row: number) => number} columnsOf */
export function movedCursor({ row, column }, key, rows, columnsOf) {
  if (key === "ArrowUp") row -= 1
  else if (key === "ArrowDown") row += 1
  else if (key === "ArrowLeft") column -= 1
  else if (key === "ArrowRight") column += 1
  else if (key === "Home") column = 0
  else if (key === "End") column = Infinity
  row = Math.min(rows - 1, Math.max(0, row))
  return { row, column: Math.min(columnsOf(row) - 1, Math.max(0, column)) }
}

/** Scroll position that brings a stretch into view in one jump, or the present one if it is seen.
 * @param {number} scroll @param {number} room @param {number} from @param {number} size */
export function followed(scroll, room, from, size) {
  if (from >= scroll && from + size <= scroll + room) return scroll
  return Math.max(0, Math.round(from + size - room * (from < scroll ? 0.5 : 0.85)))
}

/** The cell size after one zoom step. @param {number} cell @param {number} direction @param {number} dpr */
export function zoomedCell(cell, direction, dpr) {
  const next = direction > 0 ? Math.max(cell * ZOOM_STEP, cell + 1) : cell / ZOOM_STEP
  return Math.min(MAX_ZOOM_CELL, Math.max(1, Math.round(next * dpr) / dpr))
}

export class Picture {
  /**
   * @param {HTMLElement} host
   * @param {{ repaint: () => void, signal: AbortSignal }} options `repaint` asks the stage for a frame
   */
  constructor(host, { repaint, signal }) {
    this.repaint = repaint
    /** @type {any} */
    this.painter = null
    /** No rail beside the picture, as where two stand side by side. */
    this.narrow = false
    /** @type {number|null} */
    this.cell = null
    /** @type {{ row: number, column: number }|null} */
    this.cursor = null
    this.step = 0
    this.ms = 0
    this.baseKey = ""
    this.baseRows = -1
    this.build(host)
    this.listen(signal)
  }

  /** @param {HTMLElement} host */
  build(host) {
    const canvas = () => /** @type {HTMLCanvasElement} */ (el("canvas", { "aria-hidden": "true" }))
    this.base = canvas()
    this.over = canvas()
    this.space = el("div", { class: "onr-space" }, el("div", { class: "onr-pinned" }, this.base, this.over))
    this.scroller = el("div", { class: "onr-scroll", tabindex: "0", role: "group", "data-onr-arrows": "" }, this.space)
    const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ act) =>
      el("button", { type: "button", "aria-label": label, title: label, click: act }, text)
    this.zoom = el("div", { class: "onr-zoom", role: "group", "aria-label": "Zoom" },
      button("−", "Zoom out", () => this.zoomBy(-1)),
      button("+", "Zoom in", () => this.zoomBy(1)),
      button("fit", "Fit the whole picture", () => this.setCell(this.lay?.fitted ?? null)))
    this.tipTitle = el("strong")
    this.tipWhere = el("span", { class: "onr-tip-where" })
    this.tipLines = el("div", { class: "onr-tip-lines" })
    this.tip = el("div", { class: "onr-tip", hidden: true }, this.tipTitle, this.tipWhere, this.tipLines)
    this.live = el("p", { class: "onr-sr", role: "status", "aria-live": "polite", "data-onr": "cell" })
    this.title = el("figcaption", { class: "onr-pic-title" })
    this.figure = el("figure", { class: "onr-pic" }, this.title,
      el("div", { class: "onr-window" }, this.scroller, this.zoom, this.tip, this.live))
    host.append(this.figure)
  }

  /** @param {AbortSignal} signal */
  listen(signal) {
    const on = (/** @type {string} */ type, /** @type {any} */ act, options = {}) =>
      this.scroller.addEventListener(type, act, { signal, ...options })
    on("scroll", () => this.repaint())
    on("pointermove", (/** @type {PointerEvent} */ e) => e.pointerType === "mouse" && this.look(this.cellAt(e)))
    on("click", (/** @type {PointerEvent} */ e) => this.look(this.cellAt(e)))
    on("pointerleave", (/** @type {PointerEvent} */ e) => e.pointerType === "mouse" && this.look(null))
    // A click must not take the keyboard from the presenter: only Tab focuses the cells.
    on("mousedown", (/** @type {Event} */ e) => e.preventDefault())
    on("blur", () => this.look(null))
    on("keydown", (/** @type {KeyboardEvent} */ e) => this.key(e))
    on("wheel", (/** @type {WheelEvent} */ e) => this.wheel(e), { passive: false })
    this.observer = new ResizeObserver(() => this.repaint())
    this.observer.observe(this.scroller)
    signal.addEventListener("abort", () => this.observer.disconnect())
  }

  /** @param {any} painter @param {string} label what a screen reader says of the picture */
  setPainter(painter, label) {
    this.painter = painter
    this.scroller.setAttribute("aria-label", label)
  }

  /** Position of a pointer in the window. @param {MouseEvent} event */
  cellAt(event) {
    if (!this.lay || !this.at) return null
    const box = this.scroller.getBoundingClientRect()
    return this.painter.hit(this.lay, event.clientX - box.left, event.clientY - box.top, this.at, this.step)
  }

  /** @param {{ row: number, column: number }|null} cell */
  look(cell) {
    if (cell?.row === this.cursor?.row && cell?.column === this.cursor?.column) return
    this.cursor = cell
    this.repaint()
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === "Escape") return this.scroller.blur()
    if (event.key === "+" || event.key === "-") this.zoomBy(event.key === "+" ? 1 : -1)
    else if (/^(Arrow(Up|Down|Left|Right)|Home|End)$/.test(event.key)) {
      const rows = this.painter.run.rowsAt(this.step)
      const columnsOf = (/** @type {number} */ row) => this.painter.columnsOf(row)
      const start = { row: rows - 1, column: 0 }
      this.cursor = this.cursor ? movedCursor(this.cursor, event.key, rows, columnsOf) : start
      this.reveal(this.cursor.row, this.cursor.column)
      const { title, where, lines } = this.painter.describe(this.cursor)
      setText(this.live, [title, where, ...lines].join(", "))
      this.repaint()
    } else return
    event.preventDefault()
    event.stopPropagation()
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    if (!event.ctrlKey) return
    event.preventDefault()
    const box = this.scroller.getBoundingClientRect()
    this.zoomBy(event.deltaY < 0 ? 1 : -1, event.clientX - box.left, event.clientY - box.top)
  }

  /** @param {number} direction @param {number} [px] @param {number} [py] fixed point in the window */
  zoomBy(direction, px = this.scroller.clientWidth / 2, py = this.scroller.clientHeight / 2) {
    if (!this.lay) return
    const { left, top, cell } = this.lay
    const next = zoomedCell(cell, direction, devicePixelRatio)
    const row = (this.scroller.scrollTop + py - top) / cell
    const column = (this.scroller.scrollLeft + px - left) / cell
    this.setCell(next)
    this.relayout()
    this.scroller.scrollTop = row * next + top - py
    this.scroller.scrollLeft = column * next + left - px
  }

  /** @param {number|null} cell null lets the picture choose */
  setCell(cell) {
    this.cell = cell
    this.repaint()
  }

  /** Layout for the present size; cheap, and the same input gives the same layout. */
  relayout() {
    const [width, height] = [this.scroller.clientWidth, this.scroller.clientHeight]
    const room = { width, height, cell: this.cell, dpr: devicePixelRatio || 1, narrow: this.narrow }
    this.lay = this.painter.layout(room)
    this.space.style.width = `${this.lay.contentWidth + this.lay.rail}px`
    this.space.style.height = `${this.lay.contentHeight + this.lay.band}px`
    this.at = {
      x: this.scroller.scrollLeft, y: this.scroller.scrollTop,
      // A picture that fits keeps its legend and remarks beside it, not at the far edge.
      width: Math.min(width - this.lay.rail, this.lay.rail ? this.lay.contentWidth : Infinity),
      height: height - this.lay.band,
    }
    return this.lay
  }

  /** Scroll so that a cell is seen. @param {number} row @param {number} column */
  reveal(row, column) {
    const lay = this.relayout()
    const at = /** @type {any} */ (this.at)
    this.scroller.scrollTop = followed(at.y, at.height - lay.top, row * lay.cell, lay.cell)
    const across = lay.cellWidth ?? lay.cell
    this.scroller.scrollLeft = followed(at.x, at.width - lay.left, column * across, across)
  }

  /** One frame. @param {number} step @param {number} ms */
  paint(step, ms) {
    if (!this.painter || this.scroller.clientWidth < 40) return
    const stepped = step !== this.step
    ;[this.step, this.ms] = [step, ms]
    if (stepped) {
      this.cursor = null
      const last = this.painter.run.rowsAt(step) - 1
      this.reveal(last, this.painter.follows === "rows" ? 0 : last)
    }
    const lay = this.relayout()
    const dpr = devicePixelRatio || 1
    const [width, height] = [this.scroller.clientWidth, this.scroller.clientHeight]
    const resized = sizeCanvas(this.base, width, height, dpr)
    sizeCanvas(this.over, width, height, dpr)
    this.paintBase(lay, resized, dpr)
    const pen = this.penOf(this.over, dpr)
    pen.erase(0, 0, width, height)
    this.painter.paintMoving(pen, lay, step, ms, this.at)
    if (this.cursor) this.painter.paintCursor(pen, lay, this.cursor, this.at)
    this.showTip(lay)
  }

  /** Only the rows that became still are drawn, unless anything else changed.
   * @param {any} lay @param {boolean} resized @param {number} dpr */
  paintBase(lay, resized, dpr) {
    const rows = this.painter.settledRows(this.step, this.ms)
    const at = /** @type {any} */ (this.at)
    const key = [this.painter.key, lay.cell, lay.rail, at.x, at.y, at.width, at.height, dpr].join("|")
    const same = key === this.baseKey && !resized
    if (same && rows === this.baseRows) return
    const pen = this.penOf(this.base, dpr)
    if (same && rows === this.baseRows + 1 && this.baseRows >= this.painter.run.nPrompt) {
      this.painter.paintSettled(pen, lay, this.baseRows, at)
    } else {
      pen.erase(0, 0, this.base.width, this.base.height)
      this.painter.paintBase(pen, lay, rows, at)
      this.painter.paintLegend(pen, lay, at)
    }
    ;[this.baseKey, this.baseRows] = [key, rows]
  }

  /** @param {HTMLCanvasElement} canvas @param {number} dpr */
  penOf(canvas, dpr) {
    return new CanvasPen(/** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")), dpr)
  }

  /** @param {any} lay */
  showTip(lay) {
    this.tip.hidden = !this.cursor
    if (!this.cursor) return
    const { title, where, lines } = this.painter.describe(this.cursor)
    setText(this.tipTitle, title)
    setText(this.tipWhere, `${where} · measured in this run`)
    if (this.tipLines.textContent !== lines.join("")) {
      this.tipLines.replaceChildren(...lines.map((/** @type {string} */ line) => el("div", {}, line)))
    }
    const box = this.painter.cellBox(this.cursor, lay, this.at)
    const [w, h] = [this.tip.offsetWidth, this.tip.offsetHeight]
    const beside = box.x + box.width + 12
    const x = beside + w <= this.scroller.clientWidth ? beside : Math.max(0, box.x - w - 12)
    const y = Math.min(Math.max(0, box.y - h / 2), Math.max(0, this.scroller.clientHeight - h))
    this.tip.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`
  }
}
