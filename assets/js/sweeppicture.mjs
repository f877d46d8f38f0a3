// @ts-check
/**
 * The sweep: x, W and the outputs, with the orange column. A pure function of (sweep, view, step,
 * ms) that draws through a pen; bitmaps of one pixel a cell are only a memory of colours.
 */
import { colorRamp, mixColor, parseColor, rampColor } from "./draw.mjs"
import { paintRamp } from "./paint.mjs"
import { CanvasPen, textWidth } from "./pen.mjs"
import { termsAt } from "./sweepclock.mjs"
import { signedText } from "./sweepdata.mjs"

/** Levels run from -127 to 127. */
const FULL_LEVEL = 127
/** From this size on, cells are set apart by a line of ground. */
const APART = 4.2

/** @typedef {{ dtype: string, rows: number }} SweepView */

/**
 * Where everything lies; W has the same place for every number of rows and every precision.
 * @param {{ width: number, height: number, type: number, cellsIn: number, cellsOut: number, dOut: number, rows: number }} room
 */
export function sweepLayout({ width, height, type, cellsIn, cellsOut, dOut, rows }) {
  const narrow = width < 480
  const thickest = narrow ? 46 : 84
  const outMost = Math.max(24, Math.min(60, height * 0.16))
  const left = Math.round(Math.max(thickest + 10, type * (narrow ? 4.2 : 7.4)))
  const top = Math.round(type * 1.75)
  const sumHeight = Math.round(type * 1.9)
  const w = { x: left, y: top, width: width - left - 6, height: Math.max(60, height - top - sumHeight - outMost - 4) }
  // Few columns are not stretched over a wide screen.
  w.width *= Math.min(1, Math.max(0.62, dOut / 352))
  const thick = (/** @type {number} */ most) => 15 + (most - 15) * (Math.log2(rows) / 9)
  const xWidth = thick(thickest)
  return {
    width, height, type, narrow, left, w, dOut, cellsIn, cellsOut, sumY: top + w.height + sumHeight / 2,
    x: { x: left - 10 - xWidth, y: top, width: xWidth, height: w.height },
    out: { x: left, y: top + w.height + sumHeight, width: w.width, height: thick(outMost) },
    columnWidth: w.width / dOut,
  }
}

/** @typedef {ReturnType<typeof sweepLayout>} SweepLayout */

/** The weight under a point, or null. @param {SweepLayout} lay @param {number} dIn @param {number} px @param {number} py */
export function weightAt(lay, dIn, px, py) {
  const { w, out, dOut } = lay
  const column = Math.floor(((px - w.x) / w.width) * dOut)
  if (column < 0 || column >= dOut) return null
  if (py >= w.y && py < w.y + w.height) return { row: Math.min(dIn - 1, Math.floor(((py - w.y) / w.height) * dIn)), column }
  return py >= out.y - 4 && py < out.y + out.height + 4 ? { row: -1, column } : null
}

/** What a step shows at `ms` of `stepMs`: whole columns done, and terms of the one in motion.
 * @param {number} step @param {number} ms @param {number} stepMs @param {number} dIn */
export function progressAt(step, ms, stepMs, dIn) {
  const terms = step === 0 ? dIn : termsAt(ms, stepMs, dIn)
  const moving = step > 0 && terms < dIn
  return { columns: moving ? step - 1 : step, terms: moving ? terms : 0, column: step - 1, moving, slow: stepMs > 2000 }
}

/** One pixel a cell. @param {number} width @param {number} height @param {(row: number, column: number) => string} colorAt */
function levelBitmap(width, height, colorAt) {
  const canvas = document.createElement("canvas")
  canvas.width = width
  canvas.height = height
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"))
  const image = context.createImageData(width, height)
  /** @type {Map<string, number[]>} */
  const known = new Map()
  for (let at = 0; at < width * height; at++) {
    const color = colorAt(Math.floor(at / width), at % width)
    let rgb = known.get(color)
    if (!rgb) known.set(color, (rgb = parseColor(color)))
    image.data.set([rgb[0], rgb[1], rgb[2], 255], 4 * at)
  }
  context.putImageData(image, 0, 0)
  return canvas
}

export class SweepPainter {
  /** @param {import("./sweepdata.mjs").SweepData} sweep @param {SweepView} view @param {any} theme */
  constructor(sweep, view, theme) {
    this.sweep = sweep
    this.view = view
    this.theme = theme
    this.precision = sweep.precision(view.dtype)
    this.drawnRows = sweep.drawnWithin(view.rows)
    const orange = mixColor(parseColor(theme.ground), parseColor(theme.weights), theme.dark ? 0.4 : 0.42)
    const ramps = (/** @type {string} */ ground, /** @type {number} */ share) =>
      [theme.negative, theme.positive].map((full) =>
        colorRamp(ground, mixColor(parseColor(ground), parseColor(full), share), 0))
    this.quiet = ramps(theme.ground, 0.34)
    this.lit = ramps(orange, 0.66)
    this.plain = ramps(theme.ground, 0.85)
    /** @type {Record<string, { key: string, canvas: HTMLCanvasElement }>} */
    this.grids = {}
  }

  /** @param {{ width: number, height: number }} size */
  layout({ width, height }) {
    const { cellsIn, cellsOut, dOut } = this.sweep
    return sweepLayout({ width, height, type: this.theme.type, cellsIn, cellsOut, dOut, rows: this.view.rows })
  }

  /** What no step changes: x, W unread, room for the outputs, words. @param {any} pen @param {SweepLayout} lay */
  paintStill(pen, lay) {
    const { cellsIn, cellsOut, xLevels } = this.sweep
    this.paintLabels(pen, lay)
    // x lies on its side: its numbers face the rows of W that they meet.
    this.grid(pen, "x", xLevels.subarray(0, this.drawnRows * cellsIn), this.plain, lay.x, this.drawnRows, cellsIn, lay.x.width, true)
    this.grid(pen, "quiet", this.precision.gridLevels, this.quiet, this.weightBox(lay), cellsOut, cellsIn, lay.w.width)
    pen.rect(lay.out.x, lay.out.y, lay.out.width, lay.out.height, this.theme.soft)
    for (const box of [lay.x, lay.w, lay.out]) pen.box(box.x - 1, box.y - 1, box.width + 2, box.height + 2, this.theme.line, 1)
  }

  /** What a step has read and made. @param {any} pen @param {SweepLayout} lay @param {ReturnType<typeof progressAt>} now */
  paintMoving(pen, lay, now) {
    const { cellsIn, cellsOut } = this.sweep
    const edge = now.columns * lay.columnWidth
    const out = { ...this.weightBox(lay), y: lay.out.y, height: lay.out.height }
    const made = this.precision.outLevels.subarray(0, this.drawnRows * cellsOut)
    this.grid(pen, "lit", this.precision.gridLevels, this.lit, this.weightBox(lay), cellsOut, cellsIn, edge)
    this.grid(pen, "out", made, this.plain, out, cellsOut, this.drawnRows, edge)
    if (now.column < 0) return
    this.paintColumn(pen, lay, now)
    this.paintSum(pen, lay, now)
  }

  /** The place of all cells; the last one may stand for fewer columns and reach beyond W. @param {SweepLayout} lay */
  weightBox(lay) {
    return { ...lay.w, width: this.sweep.cellsOut * this.sweep.payload.blocks.along_out * lay.columnWidth }
  }

  /** A grid of levels in a box, as far as `seen`: from a canvas made once, or by rectangles.
   * @param {any} pen @param {string} name @param {Int8Array} levels @param {string[][]} ramps
   * @param {{ x: number, y: number, width: number, height: number }} box @param {number} columns @param {number} rows
   * @param {number} seen width from the left @param {boolean} turned levels lie column after column */
  grid(pen, name, levels, ramps, box, columns, rows, seen, turned = false) {
    if (seen <= 0) return
    const color = (/** @type {number} */ row, /** @type {number} */ column) => {
      const level = levels[turned ? column * rows + row : row * columns + column]
      return rampColor(level < 0 ? ramps[0] : ramps[1], Math.abs(level) / FULL_LEVEL)
    }
    const [cw, ch] = [box.width / columns, box.height / rows]
    if (pen.context) {
      const made = this.made(name, box, pen.dpr, columns, rows, color)
      const width = Math.min(made.width, Math.max(1, Math.round(seen * pen.dpr)))
      pen.context.drawImage(made, 0, 0, width, made.height, box.x, box.y, width / pen.dpr, box.height)
      return
    }
    pen.clip(box.x, box.y, seen, box.height)
    for (let r = 0; r < rows; r++) for (let c = 0; c * cw < seen; c++) pen.rect(box.x + c * cw, box.y + r * ch, cw, ch, color(r, c))
    this.linesApart(pen, box.x, box.y, box, columns, rows)
    pen.unclip()
  }

  /** The same grid on a canvas of its own in device pixels, made once for a size.
   * @param {string} name @param {{ width: number, height: number }} box @param {number} dpr
   * @param {number} columns @param {number} rows @param {(row: number, column: number) => string} color */
  made(name, box, dpr, columns, rows, color) {
    const key = `${box.width}|${box.height}|${dpr}`
    if (this.grids[name]?.key === key) return this.grids[name].canvas
    const canvas = document.createElement("canvas")
    canvas.width = Math.max(1, Math.round(box.width * dpr))
    canvas.height = Math.max(1, Math.round(box.height * dpr))
    const pen = new CanvasPen(/** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")), dpr)
    pen.context.imageSmoothingEnabled = Math.min(box.width / columns, box.height / rows) < 1
    pen.context.drawImage(levelBitmap(columns, rows, color), 0, 0, box.width, box.height)
    this.linesApart(pen, 0, 0, box, columns, rows)
    this.grids[name] = { key, canvas }
    return canvas
  }

  /** Lines of ground between cells that are large enough.
   * @param {any} pen @param {number} x @param {number} y @param {{ width: number, height: number }} box @param {number} columns @param {number} rows */
  linesApart(pen, x, y, box, columns, rows) {
    const [cw, ch] = [box.width / columns, box.height / rows]
    const line = this.theme.ground
    if (cw >= APART) for (let c = 1; c < columns; c++) pen.rect(x + c * cw - 0.5, y, 1, box.height, line)
    if (ch >= APART) for (let r = 1; r < rows; r++) pen.rect(x, y + r * ch - 0.5, box.width, 1, line)
  }

  /** @param {any} pen @param {SweepLayout} lay */
  paintLabels(pen, lay) {
    const { theme, sweep, view } = this
    const y = lay.w.y - theme.type * 0.95
    const name = { size: theme.type, family: theme.mono, weight: 700, fill: theme.ink }
    const shape = { ...name, weight: 400, fill: theme.muted }
    const shapeX = `(${view.rows}, ${sweep.dIn})`
    pen.text("x", lay.narrow ? 0 : Math.max(0, lay.left - 10 - textWidth(`x ${shapeX}`, shape)), y, name)
    if (!lay.narrow) pen.text(shapeX, lay.left - 10, y, { ...shape, align: "right" })
    pen.text("W", lay.w.x, y, name)
    pen.text(`(${sweep.dIn}, ${sweep.dOut}) ${view.dtype}`, lay.w.x + theme.type * 1.2, y, shape)
    this.paintScale(pen, lay, y)
    const outY = lay.out.y + Math.min(lay.out.height, theme.type * 1.5) / 2
    if (lay.narrow) pen.text("out", lay.left - 6, outY, { ...name, align: "right" })
    else {
      pen.text("output", lay.left - 10, outY, { ...name, align: "right" })
      pen.text(`(${view.rows}, ${sweep.dOut})`, lay.left - 10, outY + theme.type * 1.25, { ...shape, size: theme.type * 0.93, align: "right" })
    }
  }

  /** The legend of the signed scale, right above W where there is room. @param {any} pen @param {SweepLayout} lay @param {number} y */
  paintScale(pen, lay, y) {
    const { theme } = this
    const full = this.sweep.payload.words.legend.w
    const style = { size: theme.type * 0.93, family: theme.mono, fill: theme.muted }
    const [low, high] = [`≤ −${full}`, `≥ ${full}`]
    const bar = theme.type * 3
    const width = textWidth(low, style) + textWidth(high, style) + 2 * bar + 12
    const taken = textWidth(`W (${this.sweep.dIn}, ${this.sweep.dOut}) ${this.view.dtype}`, style) + 30
    if (lay.w.width < width + taken) return
    let x = lay.w.x + lay.w.width - width
    pen.text(low, x, y, style)
    x += textWidth(low, style) + 6
    const h = theme.type * 0.7
    paintRamp(pen, [...this.plain[0]].reverse(), x, y - h / 2, bar, h, theme.line)
    paintRamp(pen, this.plain[1], x + bar, y - h / 2, bar, h, theme.line)
    pen.text(high, x + 2 * bar + 6, y, style)
  }

  /** The orange column, and the term that is being read. @param {any} pen @param {SweepLayout} lay @param {ReturnType<typeof progressAt>} now */
  paintColumn(pen, lay, now) {
    const { theme, sweep } = this
    const wide = Math.max(lay.columnWidth, 9)
    const x = lay.w.x + (now.column + 0.5) * lay.columnWidth - wide / 2
    if (now.moving) {
      const read = (now.terms / sweep.dIn) * lay.w.height
      pen.rect(x, lay.w.y, wide, read, theme.weights)
      const y = lay.w.y + read
      pen.rect(lay.x.x, y - 1, x - lay.x.x, 2, theme.weights)
      pen.box(lay.x.x - 2, y - 4, lay.x.width + 4, 8, theme["weights-text"], 2, 3)
    }
    pen.box(x, lay.w.y - 7, wide, lay.w.height + 14, theme.weights, 3, 3)
    const out = lay.out
    if (!now.moving) pen.box(x, out.y - 4, wide, out.height + 8, theme.new, 3, 3)
    else pen.box(x, out.y - 4, wide, out.height + 8, theme.weights, 1.5, 3)
  }

  /** The running sum under its column; on the first column with the product that is being added.
   * @param {any} pen @param {SweepLayout} lay @param {ReturnType<typeof progressAt>} now */
  paintSum(pen, lay, now) {
    const { theme, sweep, view } = this
    const terms = now.moving ? now.terms : sweep.dIn
    const style = { size: theme.type * 1.07, family: theme.mono, fill: theme["weights-text"], weight: 600 }
    const which = view.rows > 1 && !lay.narrow ? `row 0 of ${view.rows}: ` : ""
    let text = `${which}Σ x·w = ${signedText(sweep.runningSum(view.dtype, now.column, terms))}`
    if (now.moving && now.slow && terms > 0 && !lay.narrow) {
      const i = terms - 1
      const [x, w] = [sweep.x[i], sweep.weight(view.dtype, i, now.column).value]
      text = `x[${i}]·w[${i}] = ${signedText(x)} × ${signedText(w)} = ${signedText(x * w)}   ${text}`
    }
    const width = textWidth(text, style)
    const wanted = lay.w.x + (now.column + 0.5) * lay.columnWidth - 5
    pen.text(text, Math.max(lay.left - 2, Math.min(wanted, lay.w.x + lay.w.width - width)), lay.sumY, style)
  }

  /** A dotted frame around a hovered or focused weight. @param {any} pen @param {SweepLayout} lay @param {{ row: number, column: number }} at */
  paintCursor(pen, lay, at) {
    const wide = Math.max(lay.columnWidth, 5)
    const x = lay.w.x + (at.column + 0.5) * lay.columnWidth - wide / 2
    pen.box(x, lay.w.y - 3, wide, lay.w.height + 6, this.theme.ink, 1)
    if (at.row < 0) return
    const y = lay.w.y + ((at.row + 0.5) / this.sweep.dIn) * lay.w.height
    pen.line(lay.x.x, y, x, y, this.theme.ink, 1, [3, 3])
    pen.box(x - 2, y - 4, wide + 4, 8, this.theme.ink, 2, 2)
  }
}
