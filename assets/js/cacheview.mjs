// @ts-check
/**
 * The same moment seen from the cache: K and V of one K/V head as growing matrices of real values,
 * one row a token. Rows lie where they lie in the triangle, and no query is among them.
 */
import { rampColor, shortNumber } from "./draw.mjs"
import { borderEntry, margins, paintBorder, paintLegend, paintRamp, paintRowLabel, visibleRange } from "./paint.mjs"
import { phasesAt } from "./run.mjs"

const MAX_ROW = 36
const MIN_ROW = 4
const CACHE_LEGEND_ENTRIES = 4

/** @param {{ nRows: number, nColumns: number, width: number, height: number, cell: number|null, dpr: number, type: number, narrow: boolean }} room */
export function cacheLayout({ nRows, nColumns, width, height, cell, dpr, type, narrow }) {
  const { rail, railX, band, legendBottom } = margins(width, type, narrow, CACHE_LEGEND_ENTRIES)
  const [left, top] = [Math.round(type * 5.6), Math.round(type * 3.4)]
  const between = Math.round(type * 1.4)
  const snap = (/** @type {number} */ size) => Math.max(1, Math.floor(size * dpr)) / dpr
  const fitted = snap((height - top - band - 6) / nRows)
  const size = cell ?? Math.min(MAX_ROW, Math.max(MIN_ROW, fitted))
  const across = snap((width - left - rail - between - 8) / (2 * nColumns))
  const cellWidth = Math.min(cell === null ? 12 : Math.max(across, cell * 0.6), Math.max(across, 3))
  return {
    nRows, nColumns, type, left, top, rail, railX, band, legendBottom, fitted, cell: size, cellWidth, between,
    gap: size >= 7 ? 1 : 0, radius: 0,
    rowEvery: Math.max(1, Math.ceil((type * 1.08) / size)),
    columnEvery: 1,
    contentWidth: left + 2 * nColumns * cellWidth + between + 8,
    contentHeight: top + nRows * size + 6,
  }
}

/** @typedef {ReturnType<typeof cacheLayout>} CacheLayout */

/** @param {Float32Array} values */
function largestOf(values) {
  let largest = 0
  for (const value of values) if (Math.abs(value) > largest) largest = Math.abs(value)
  return largest || 1
}

export class CachePainter {
  /**
   * @param {import("./run.mjs").Run} run
   * @param {{ layer: number, head: number }} view
   * @param {Record<string, any>} theme
   */
  constructor(run, view, theme) {
    this.run = run
    this.theme = theme
    this.kvHead = Math.floor(view.head / run.groupSize)
    this.nColumns = run.model.head_dim
    const part = (/** @type {"keys"|"values"} */ field, /** @type {string} */ name, /** @type {string} */ ink) => {
      const values = run.cache(field, view.layer, this.kvHead)
      return { name, ink, values, largest: largestOf(values) }
    }
    this.parts = [part("keys", "K", theme["k-text"]), part("values", "V", theme["v-text"])]
    this.key = ["cache", run.id, run.nRows, view.layer, this.kvHead, theme.key].join("|")
    this.follows = "rows"
    this.remarks = ["prefill wrote these at once", "decode adds one K and one V a step"]
  }

  /** @param {{ width: number, height: number, cell: number|null, dpr: number, narrow: boolean }} room */
  layout(room) {
    return cacheLayout({ ...room, nRows: this.run.nRows, nColumns: this.nColumns, type: this.theme.type })
  }

  /** Rows that are still. @param {number} step */
  settledRows(step) {
    return step === 0 ? this.run.nPrompt : this.run.rowsAt(step) - 1
  }

  /** Left edge of K (0) or V (1). @param {CacheLayout} lay @param {number} part @param {any} at */
  partX(lay, part, at) {
    return lay.left - at.x + part * (lay.nColumns * lay.cellWidth + lay.between)
  }

  /** @param {number} part @param {number} row @param {number} column */
  color(part, row, column) {
    const { values, largest } = this.parts[part]
    const value = values[row * this.nColumns + column] / largest
    return rampColor(value < 0 ? this.theme.negativeRamp : this.theme.positiveRamp, Math.abs(value))
  }

  /** @param {any} pen @param {CacheLayout} lay @param {number} rows @param {any} at */
  paintBase(pen, lay, rows, at) {
    const [r0, r1] = visibleRange(at.y, at.height - lay.top, lay.cell, lay.nRows)
    this.clipGrid(pen, lay, at)
    for (let r = r0; r < Math.min(r1, rows); r++) this.paintRow(pen, lay, r, at, 1)
    for (const part of [0, 1]) {
      const width = lay.nColumns * lay.cellWidth
      pen.box(this.partX(lay, part, at) - 1, lay.top - at.y - 1, width + 2, lay.nRows * lay.cell + 2, this.theme.line, 1)
    }
    pen.unclip()
    for (let r = 0; r < rows; r++) paintRowLabel(pen, lay, this.theme, this.run.label(r), r, at)
  }

  /** @param {any} pen @param {CacheLayout} lay @param {any} at */
  clipGrid(pen, lay, at) {
    pen.clip(lay.left - 5, lay.top - 5, at.width - lay.left + 5, at.height - lay.top + 5)
  }

  /** One token's key and value, from the left up to `share` of their width.
   * @param {any} pen @param {CacheLayout} lay @param {number} row @param {any} at @param {number} share */
  paintRow(pen, lay, row, at, share) {
    const y = lay.top - at.y + row * lay.cell
    const columns = Math.round(share * this.nColumns)
    for (const part of [0, 1]) {
      const x = this.partX(lay, part, at)
      for (let c = 0; c < columns; c++) {
        pen.rect(x + c * lay.cellWidth, y, lay.cellWidth, lay.cell - lay.gap, this.color(part, row, c))
      }
    }
  }

  /** @param {any} pen @param {CacheLayout} lay @param {number} row @param {any} at */
  paintSettled(pen, lay, row, at) {
    this.clipGrid(pen, lay, at)
    this.paintRow(pen, lay, row, at, 1)
    pen.unclip()
    paintRowLabel(pen, lay, this.theme, this.run.label(row), row, at)
  }

  /** @param {any} pen @param {CacheLayout} lay @param {number} step @param {number} ms @param {any} at */
  paintMoving(pen, lay, step, ms, at) {
    const { theme, run } = this
    const newest = run.newestRow(step)
    this.paintHeadings(pen, lay, run.rowsAt(step), at)
    paintBorder(pen, lay, theme, run, at, /** @type {any} */ (this.remarks))
    if (newest < 0) return
    const { land, draw } = phasesAt(ms)
    this.clipGrid(pen, lay, at)
    this.paintRow(pen, lay, newest, at, draw)
    const y = lay.top - at.y + newest * lay.cell
    const side = Math.max(2, lay.cell - lay.gap)
    for (const part of [0, 1]) {
      pen.box(this.partX(lay, part, at) - 3, y - 3, lay.nColumns * lay.cellWidth + 6, side + 6, theme.new, 2, 3)
    }
    pen.unclip()
    const look = { strong: true, fill: theme["new-text"], alpha: 0.3 + 0.7 * land, shift: (1 - land) * 10 }
    paintRowLabel(pen, lay, theme, run.label(newest), newest, at, look)
  }

  /** @param {any} pen @param {CacheLayout} lay @param {number} rows @param {any} at */
  paintHeadings(pen, lay, rows, at) {
    const size = lay.type
    this.parts.forEach(({ name, ink }, part) => {
      const x = this.partX(lay, part, at)
      if (x < lay.left - 1) return
      const bar = Math.max(3, size * 0.28)
      pen.text(name, x, size * 1.1, { size: size * 1.25, weight: 700, family: this.theme.sans, fill: ink })
      const shape = { size, family: this.theme.mono, fill: this.theme.muted }
      pen.text(`(${rows}, ${this.nColumns})`, x + size * 1.5, size * 1.15, shape)
      pen.rect(x, lay.top - size * 0.85, lay.nColumns * lay.cellWidth, bar, ink, bar / 2)
    })
  }

  /** @param {any} pen @param {CacheLayout} lay @param {any} at */
  paintLegend(pen, lay, at) {
    const { theme } = this
    const [k, v] = this.parts
    const ramp = (/** @type {string[]} */ colors) => (/** @type {number[]} */ ...box) =>
      paintRamp(pen, colors, box[0], box[1], box[2], box[3], theme.line)
    const outline = (/** @type {number[]} */ ...[x, y, w, h]) => pen.box(x, y - 1, w, h + 2, theme.new, 2, 2)
    const none = () => {}
    paintLegend(pen, lay, theme, at, `K/V head ${this.kvHead}: values`, [
      { text: "below zero", swatch: ramp([...theme.negativeRamp].reverse()) },
      { text: "above zero", swatch: ramp(theme.positiveRamp) },
      { text: "new entry", swatch: outline },
      { text: `K ±${shortNumber(k.largest)}, V ±${shortNumber(v.largest)}`, swatch: none },
      ...borderEntry(pen, lay, theme),
    ])
  }

  /** @param {CacheLayout} lay @param {number} px @param {number} py @param {any} at @param {number} step */
  hit(lay, px, py, at, step) {
    if (px < lay.left || py < lay.top || px > at.width || py > at.height) return null
    const row = Math.floor((py + at.y - lay.top) / lay.cell)
    if (row >= this.run.rowsAt(step)) return null
    for (const part of [0, 1]) {
      const column = Math.floor((px - this.partX(lay, part, at)) / lay.cellWidth)
      if (column >= 0 && column < this.nColumns) return { row, column: part * this.nColumns + column }
    }
    return null
  }

  columnsOf() {
    return 2 * this.nColumns
  }

  /** @param {{ row: number, column: number }} cell @param {CacheLayout} lay @param {any} at */
  cellBox({ row, column }, lay, at) {
    const part = column < this.nColumns ? 0 : 1
    const x = this.partX(lay, part, at) + (column - part * this.nColumns) * lay.cellWidth
    return { x, y: lay.top - at.y + row * lay.cell, width: lay.cellWidth, height: lay.cell - lay.gap }
  }

  /** @param {any} pen @param {CacheLayout} lay @param {any} cell @param {any} at */
  paintCursor(pen, lay, cell, at) {
    const box = this.cellBox(cell, lay, at)
    pen.box(box.x - 2, box.y - 2, box.width + 4, box.height + 4, this.theme.ink, 2, 1)
    paintRowLabel(pen, lay, this.theme, this.run.label(cell.row), cell.row, at, { strong: true })
  }

  /** @param {{ row: number, column: number }} cell */
  describe({ row, column }) {
    const part = column < this.nColumns ? 0 : 1
    const dim = column - part * this.nColumns
    const { name, values } = this.parts[part]
    return {
      title: `${name} of ${this.run.label(row)}`,
      where: `position ${row}, dimension ${dim}`,
      lines: [`${name}[${row}, ${dim}] = ${shortNumber(values[row * this.nColumns + dim])}`],
    }
  }
}
