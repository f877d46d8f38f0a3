// @ts-check
/**
 * The growing triangle of one head. Everything here is a pure function of (run, view, step, ms)
 * and draws through a pen, so that the screen, the PNG and the SVG are one picture.
 */
import { colorRamp, rampColor, shortNumber, strength, triIndex } from "./draw.mjs"
import {
  borderEntry, paintBorder, paintColumnLabel, paintLegend, paintRamp, paintRowLabel, triangleBitmap,
  visibleRange,
} from "./paint.mjs"
import { PHASE_ENDS, phasesAt } from "./run.mjs"
import { MIN_CELL, attentionLayout, newCellAt, rangeOf } from "./triangle.mjs"

/** Outlines of the future are drawn one by one from this size on. */
const OUTLINE_CELL = 9

/** @typedef {import("./triangle.mjs").AttentionLayout} AttentionLayout */

export class AttentionPainter {
  /**
   * @param {import("./run.mjs").Run} run
   * @param {{ layer: number, head: number, scale: string, mask: boolean }} view
   * @param {Record<string, any>} theme
   */
  constructor(run, view, theme) {
    this.run = run
    this.view = view
    this.theme = theme
    this.weights = run.triangle("weights", view.layer, view.head)
    this.dots = run.triangle("dots", view.layer, view.head)
    this.key = ["rows", run.id, run.nRows, view.layer, view.head, view.scale, view.mask, theme.key].join("|")
    /** @type {HTMLCanvasElement|null} */
    this.pixels = null
    this.maskInk = colorRamp(theme.ground, theme.ink)[56]
    this.remarks = [
      `prefill, all at once: its last row chose ${run.label(run.nPrompt)}`,
      "decode, one row a step",
    ]
  }

  /** @param {{ width: number, height: number, cell: number|null, dpr: number, narrow: boolean }} room */
  layout(room) {
    return attentionLayout({ ...room, nRows: this.run.nRows, type: this.theme.type })
  }

  /** Rows that are still, drawn once in slate. @param {number} step @param {number} ms */
  settledRows(step, ms) {
    if (step === 0) return ms >= PHASE_ENDS.settle ? this.run.nPrompt : 0
    return this.run.rowsAt(step) - 1
  }

  /** @param {number} row @param {number} column */
  color(row, column) {
    return rampColor(this.theme.cachedRamp, this.share(row, column))
  }

  /** @param {number} row @param {number} column */
  share(row, column) {
    return strength(this.weights[triIndex(row, column)], this.view.scale)
  }

  /** All that is still: settled rows, their labels, the future.
   * @param {any} pen @param {AttentionLayout} lay @param {number} rows @param {any} at */
  paintBase(pen, lay, rows, at) {
    const [x, y] = [lay.left - at.x, lay.top - at.y]
    const columns = visibleRange(at.x, at.width - lay.left, lay.cell, lay.nRows)
    const [r0, r1] = visibleRange(at.y, at.height - lay.top, lay.cell, lay.nRows)
    const overview = lay.cell < MIN_CELL && pen.image
    this.clipGrid(pen, lay, at)
    if (overview) pen.image(this.bitmap(), 0, rows, x, y, lay.cell)
    for (let r = r0; r < r1; r++) {
      if (r < rows && !overview) this.paintCells(pen, lay, r, x, y, columns)
      this.paintFuture(pen, lay, r, x, y, r < rows ? [Math.max(columns[0], r + 1), columns[1]] : columns)
    }
    if (lay.cell < OUTLINE_CELL) this.paintFrame(pen, lay, x, y)
    pen.unclip()
    for (let r = 0; r < rows; r++) this.paintLabels(pen, lay, r, at)
  }

  /** One row became settled: only it and its two labels are drawn.
   * @param {any} pen @param {AttentionLayout} lay @param {number} row @param {any} at */
  paintSettled(pen, lay, row, at) {
    const [x, y] = [lay.left - at.x, lay.top - at.y]
    const [c0, c1] = visibleRange(at.x, at.width - lay.left, lay.cell, lay.nRows)
    this.clipGrid(pen, lay, at)
    if (lay.cell >= OUTLINE_CELL) pen.erase(x, y + row * lay.cell, lay.nRows * lay.cell, lay.cell)
    this.paintCells(pen, lay, row, x, y, [c0, c1])
    this.paintFuture(pen, lay, row, x, y, [Math.max(c0, row + 1), c1])
    pen.unclip()
    this.paintLabels(pen, lay, row, at)
  }

  /** @param {any} pen @param {AttentionLayout} lay @param {any} at */
  clipGrid(pen, lay, at) {
    pen.clip(lay.left - 5, lay.top - 5, at.width - lay.left + 5, at.height - lay.top + 5)
  }

  /** @param {any} pen @param {AttentionLayout} lay @param {number} row @param {number} x @param {number} y @param {number[]} columns */
  paintCells(pen, lay, row, x, y, [c0, c1]) {
    const side = lay.cell - lay.gap
    for (let c = c0; c < Math.min(c1, row + 1); c++) {
      pen.rect(x + c * lay.cell, y + row * lay.cell, side, side, this.color(row, c), lay.radius)
    }
  }

  /** What is not there yet: outlines, or the mask itself. A decode row needs no mask: nothing later is in the cache.
   * @param {any} pen @param {AttentionLayout} lay @param {number} row @param {number} x @param {number} y @param {number[]} columns */
  paintFuture(pen, lay, row, x, y, [c0, c1]) {
    const side = lay.cell - lay.gap
    const masked = this.view.mask && row < this.run.nPrompt
    if (this.view.mask && !masked) return
    for (let c = c0; c < c1; c++) {
      const [cx, cy] = [x + c * lay.cell, y + row * lay.cell]
      if (masked && c < this.run.nPrompt) {
        if (c > row) this.paintMask(pen, lay, cx, cy, side)
      } else if (!masked && lay.cell >= OUTLINE_CELL) pen.box(cx, cy, side, side, this.theme.faint, 1, lay.radius)
    }
  }

  /** @param {any} pen @param {AttentionLayout} lay @param {number} x @param {number} y @param {number} side */
  paintMask(pen, lay, x, y, side) {
    pen.rect(x, y, side, side, this.theme.soft, lay.radius)
    if (lay.cell >= 26) {
      const size = Math.min(lay.type, side * 0.6)
      pen.text("−∞", x + side / 2, y + side / 2, { size, family: this.theme.sans, fill: this.theme.muted, align: "center" })
    } else pen.line(x + 1, y + side - 1, x + side - 1, y + 1, this.maskInk, lay.cell >= 10 ? 1 : 0.5)
  }

  /** @param {any} pen @param {AttentionLayout} lay @param {number} x @param {number} y */
  paintFrame(pen, lay, x, y) {
    const side = lay.nRows * lay.cell
    pen.box(x - 1, y - 1, side + 2, side + 2, this.theme.line, 1)
  }

  /** @param {any} pen @param {AttentionLayout} lay @param {number} row @param {any} at @param {any} [look] */
  paintLabels(pen, lay, row, at, look) {
    const label = this.run.label(row)
    paintRowLabel(pen, lay, this.theme, label, row, at, look)
    paintColumnLabel(pen, lay, this.theme, label, row, at, look)
  }

  /** What moves: the newest row, or all prompt rows at once while prefill draws.
   * @param {any} pen @param {AttentionLayout} lay @param {number} step @param {number} ms @param {any} at */
  paintMoving(pen, lay, step, ms, at) {
    const [x, y] = [lay.left - at.x, lay.top - at.y]
    const { nPrompt } = this.run
    const newest = this.run.newestRow(step)
    const rising = newest < 0 && this.settledRows(step, ms) === 0
    paintBorder(pen, lay, this.theme, this.run, at, this.remarks)
    this.clipGrid(pen, lay, at)
    if (newest >= 0) this.paintNewRow(pen, lay, newest, ms, x, y, this.theme.newRamp)
    for (let r = 0; rising && r < nPrompt; r++) this.paintNewRow(pen, lay, r, ms, x, y, this.theme.cachedRamp)
    this.paintBox(pen, lay, newest >= 0 ? newest : nPrompt - 1, newest >= 0, x, y)
    pen.unclip()
    for (let r = 0; rising && r < nPrompt; r++) this.paintLabels(pen, lay, r, at)
    if (newest < 0) return
    const { land } = phasesAt(ms)
    const look = { strong: true, fill: this.theme["new-text"], alpha: 0.3 + 0.7 * land, shift: (1 - land) * 10 }
    this.paintLabels(pen, lay, newest, at, look)
  }

  /** @param {any} pen @param {AttentionLayout} lay @param {number} row @param {number} ms @param {number} x @param {number} y @param {string[]} ramp */
  paintNewRow(pen, lay, row, ms, x, y, ramp) {
    const side = lay.cell - lay.gap
    const start = triIndex(row, 0)
    const { low, high } = rangeOf(this.dots, start, row + 1)
    for (let c = 0; c <= row; c++) {
      const scoreShare = high > low ? (this.dots[start + c] - low) / (high - low) : 1
      const cell = newCellAt(this.weights[start + c], scoreShare, c, row + 1, ms, this.view.scale)
      if (cell.width <= 0) break
      const fill = rampColor(ramp, cell.strength)
      pen.rect(x + c * lay.cell, y + row * lay.cell, side * cell.width, side, fill, lay.radius)
    }
  }

  /** The outline of the newest row, or of the prefill row that chose the first token.
   * @param {any} pen @param {AttentionLayout} lay @param {number} row @param {boolean} isNew @param {number} x @param {number} y */
  paintBox(pen, lay, row, isNew, x, y) {
    const color = isNew ? this.theme.new : this.theme["cached-text"]
    const width = (row + 1) * lay.cell - lay.gap
    const side = Math.max(2, lay.cell - lay.gap)
    pen.box(x - 3, y + row * lay.cell - 3, width + 6, side + 6, color, isNew ? 2 : 1.5, lay.radius + 2)
  }

  /** @param {any} pen @param {AttentionLayout} lay @param {any} at */
  paintLegend(pen, lay, at) {
    const { theme, view } = this
    const ramp = (/** @type {string[]} */ colors) => (/** @type {number[]} */ ...box) =>
      paintRamp(pen, colors, box[0], box[1], box[2], box[3], theme.line)
    const future = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ w, /** @type {number} */ h) => {
      if (view.mask) this.paintMask(pen, { ...lay, cell: h }, x + (w - h) / 2, y, h)
      else pen.box(x + (w - h) / 2, y, h, h, theme.muted, 1, 1)
    }
    paintLegend(pen, lay, theme, at, `weight 0 to 1, ${view.scale === "sqrt" ? "√" : view.scale}`, [
      { text: "earlier rows", swatch: ramp(theme.cachedRamp) },
      { text: "new row", swatch: ramp(theme.newRamp) },
      { text: view.mask ? "mask: −∞" : "the future", swatch: future },
      ...borderEntry(pen, lay, theme),
    ])
  }

  /** One pixel a cell, kept for overviews. */
  bitmap() {
    this.pixels ??= triangleBitmap(this.run.nRows, this.theme.cachedRamp, (r, c) => this.share(r, c))
    return this.pixels
  }

  /** The cell under a point of the window; only rows and columns that exist.
   * @param {AttentionLayout} lay @param {number} px @param {number} py @param {any} at @param {number} step */
  hit(lay, px, py, at, step) {
    if (px < lay.left || py < lay.top || px > at.width || py > at.height) return null
    const column = Math.floor((px + at.x - lay.left) / lay.cell)
    const row = Math.floor((py + at.y - lay.top) / lay.cell)
    const rows = this.run.rowsAt(step)
    return row < rows && column < rows ? { row, column } : null
  }

  /** Number of columns that the cell cursor can visit in a row. @param {number} row */
  columnsOf(row) {
    return row + 1
  }

  /** @param {{ row: number, column: number }} cell @param {AttentionLayout} lay @param {any} at */
  cellBox({ row, column }, lay, at) {
    const side = Math.max(1, lay.cell - lay.gap)
    return { x: lay.left - at.x + column * lay.cell, y: lay.top - at.y + row * lay.cell, width: side, height: side }
  }

  /** The looked-at cell and its two tokens. @param {any} pen @param {any} lay @param {any} cell @param {any} at */
  paintCursor(pen, lay, cell, at) {
    const box = this.cellBox(cell, lay, at)
    pen.box(box.x - 2, box.y - 2, box.width + 4, box.height + 4, this.theme.ink, 2, lay.radius + 1)
    const look = { strong: true }
    paintRowLabel(pen, lay, this.theme, this.run.label(cell.row), cell.row, at, look)
    paintColumnLabel(pen, lay, this.theme, this.run.label(cell.column), cell.column, at, look)
  }

  /** The two tokens of a cell, then its numbers. @param {{ row: number, column: number }} cell */
  describe({ row, column }) {
    const title = `${this.run.label(row)} asks ${this.run.label(column)}`
    const where = `query ${row}, key ${column}`
    if (column > row) {
      const masked = "the future: −∞ before softmax, so weight 0"
      return { title, where, lines: [row < this.run.nPrompt ? masked : "not in the cache at that step"] }
    }
    const [dot, weight] = [this.dots[triIndex(row, column)], this.weights[triIndex(row, column)]]
    const scale = this.run.payload.scale
    return {
      title, where,
      lines: [
        `q·k = ${shortNumber(dot)}`,
        `scaled × ${shortNumber(scale)} = ${shortNumber(dot * scale)}`,
        `softmax → ${shortNumber(weight)}`,
      ],
    }
  }
}
