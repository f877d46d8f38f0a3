// @ts-check
/** Pieces that more than one picture paints: token labels, legends, remarks beside the border line. */
import { elide, parseColor, rampColor } from "./draw.mjs"
import { textWidth } from "./pen.mjs"

/** @typedef {{ x: number, y: number, width: number, height: number }} Window what is seen, in content coordinates */

const LABEL_MAX = 10
export const COLUMN_ANGLE = -60

/** The half-open range of cells that a window shows.
 * @param {number} from @param {number} length @param {number} cell @param {number} n */
export const visibleRange = (from, length, cell, n) => [
  Math.max(0, Math.floor(from / cell)),
  Math.min(n, Math.ceil((from + length) / cell)),
]

/** A token label that fits. @param {string} label @param {any} style @param {number} width */
export const fitLabel = (label, style, width) =>
  elide(label, (s) => s.length <= LABEL_MAX && textWidth(s, style) <= width)

/** Lines of at most `width`, broken at spaces. @param {string} text @param {any} style @param {number} width */
export function wrapLines(text, style, width) {
  /** @type {string[]} */
  const lines = []
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word
    if (lines.length && textWidth(longer, style) <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

/** @typedef {{ strong?: boolean, fill?: string, alpha?: number, shift?: number }} LabelLook */

/** How far a strong label's plate reaches to either side, so that it hides whole neighbours, never halves.
 * @param {number} index @param {number} every which labels are drawn @param {number} cell distance of two labels @param {number} size */
export function plateReach(index, every, cell, size) {
  const reach = (/** @type {number} */ neighbour) => {
    const distance = Math.abs(neighbour - index) * cell
    return distance > 0 && distance < size * 1.05 ? distance + size * 0.62 : size * 0.62
  }
  const before = Math.floor((index - 1) / every) * every
  return { up: reach(before), down: reach((Math.floor(index / every) + 1) * every) }
}

/** The label of one row, right-aligned before the picture.
 * @param {any} pen @param {any} lay @param {any} theme @param {string} label @param {number} row @param {Window} at @param {LabelLook} [look] */
export function paintRowLabel(pen, lay, theme, label, row, at, look = {}) {
  const { strong = false, fill = theme.ink, alpha = 1, shift = 0 } = look
  const size = lay.type
  const y = lay.top - at.y + row * lay.cell + (lay.cell - lay.gap) / 2
  if ((!strong && row % lay.rowEvery !== 0) || y < lay.top - 1 || y > at.height + 1) return
  const style = { size, family: theme.mono, weight: strong ? 600 : 400, fill, alpha }
  const text = fitLabel(label, style, lay.left - 10)
  const plate = strong ? { fill: theme.ground, width: lay.left, ...plateReach(row, lay.rowEvery, lay.cell, size) } : undefined
  pen.text(text, lay.left - 8 - shift, y, { ...style, align: "right", plate })
}

/** The slanted label of one column, above the picture.
 * @param {any} pen @param {any} lay @param {any} theme @param {string} label @param {number} column @param {Window} at @param {LabelLook} [look] */
export function paintColumnLabel(pen, lay, theme, label, column, at, look = {}) {
  const { strong = false, fill = theme.ink, alpha = 1, shift = 0 } = look
  const x = lay.left - at.x + column * lay.cell + (lay.cell - lay.gap) / 2
  if ((!strong && column % lay.columnEvery !== 0) || x < lay.left - 1 || x > at.width) return
  const size = lay.type
  const style = { size, family: theme.mono, weight: strong ? 600 : 400, fill, alpha, rotate: COLUMN_ANGLE }
  const text = fitLabel(label, style, lay.top * 1.04)
  const across = lay.cell * Math.sin((-COLUMN_ANGLE * Math.PI) / 180)
  const plate = strong ? { fill: theme.ground, width: lay.top * 1.2, lead: size * 1.2, ...plateReach(column, lay.columnEvery, across, size) } : undefined
  if (plate) pen.clip(0, 0, at.width + lay.railX - 2, lay.top - 4)
  pen.text(text, x + size * 0.12, lay.top - 8 - shift, { ...style, plate })
  if (plate) pen.unclip()
}

/** The dashed border between prefill and decode with its two remarks; the remarks dodge the legend and the edge.
 * @param {any} pen @param {any} lay @param {any} theme @param {import("./run.mjs").Run} run @param {Window} at @param {string[]} remarks above, below */
export function paintBorder(pen, lay, theme, run, at, [above, below]) {
  if (run.nPrompt >= lay.nRows) return
  const y = lay.top - at.y + run.nPrompt * lay.cell - lay.gap / 2
  if (y < lay.top || y > at.height) return
  const right = lay.left - at.x + lay.nRows * lay.cell
  pen.line(4, y, lay.rail ? at.width + lay.rail - 4 : Math.min(at.width, right + 8), y, theme.muted, 1, [4, 3])
  const style = { size: lay.type, family: theme.sans, fill: theme.muted }
  const step = lay.type * 1.25
  if (!lay.rail) return paintRemarksInside(pen, lay, theme, run, at, y, [above, below])
  const room = lay.rail - (lay.railX - 4) - 4
  const [upper, lower] = [wrapLines(above, style, room), wrapLines(below, style, room)]
  const write = (/** @type {string[]} */ lines, /** @type {number} */ first) =>
    lines.forEach((line, i) => pen.text(line, at.width + lay.railX, first + i * step, style))
  const roomAbove = y - upper.length * step > lay.legendBottom
  const roomBelow = y + lower.length * step < at.height
  if (roomAbove && roomBelow) {
    write(upper, y - (upper.length - 0.4) * step)
    write(lower, y + 0.75 * step)
  } else if (roomBelow) write([...upper, ...lower], Math.max(y + 0.75 * step, lay.legendBottom + 0.5 * step))
  else write([...upper, ...lower], y - (upper.length + lower.length - 0.4) * step)
}

/** Without a rail the remarks stand in the future, right of the diagonal, where nothing is drawn yet.
 * @param {any} pen @param {any} lay @param {any} theme @param {import("./run.mjs").Run} run @param {Window} at @param {number} y @param {string[]} remarks */
function paintRemarksInside(pen, lay, theme, run, at, y, [above, below]) {
  const x = lay.left - at.x + (run.nPrompt + 2.5) * lay.cell
  const room = Math.min(at.width, lay.left - at.x + lay.nRows * lay.cell) - x
  if (lay.nColumns || room < lay.type * 6) return
  const step = lay.type * 1.2
  const style = { size: lay.type, family: theme.sans, fill: theme.muted }
  const plate = { fill: theme.ground, width: room, up: step / 2, down: step / 2 }
  const upper = wrapLines(above, style, room)
  if (y - (upper.length + 0.3) * step < lay.top) return
  upper.forEach((line, i) => pen.text(line, x, y - (upper.length - i - 0.4) * step, { ...style, plate }))
  const lower = wrapLines(below, style, room).slice(0, Math.max(1, Math.floor((2.5 * lay.cell) / step)))
  if (lower.join(" ") === below) lower.forEach((line, i) => pen.text(line, x, y + (i + 0.7) * step, { ...style, plate }))
}

/** A strip of a ramp. @param {any} pen @param {string[]} ramp @param {number} x @param {number} y @param {number} w @param {number} h @param {string} edge */
export function paintRamp(pen, ramp, x, y, w, h, edge) {
  const parts = 12
  for (let i = 0; i < parts; i++) {
    pen.rect(x + (i * w) / parts, y, w / parts + 0.5, h, rampColor(ramp, i / (parts - 1)))
  }
  pen.box(x, y, w, h, edge, 1)
}

/**
 * The legend: a column in the rail, or one line under the picture where there is no rail.
 * @param {any} pen @param {any} lay @param {any} theme @param {Window} at @param {string} title
 * @param {{ text: string, swatch: (x: number, y: number, w: number, h: number) => void }[]} entries
 */
export function paintLegend(pen, lay, theme, at, title, entries) {
  const size = lay.type
  const style = { size, family: theme.sans, fill: theme.muted }
  const [w, h] = [size * 2.2, size * 0.75]
  const step = size * 1.45
  if (lay.rail) {
    const x = at.width + lay.railX
    pen.text(title, x, size * 0.8, { ...style, fill: theme.ink })
    entries.forEach(({ text, swatch }, i) => {
      const y = size * 0.8 + (i + 1) * step
      swatch(x, y - h / 2, w, h)
      pen.text(text, x + w + 6, y, style)
    })
    return
  }
  let x = 4
  let y = at.height + size * 0.9
  for (const { text, swatch } of entries) {
    const width = w + 6 + textWidth(text, style) + 14
    if (x > 4 && x + width > at.width + 8) [x, y] = [4, y + step]
    swatch(x, y - h / 2, w, h)
    pen.text(text, x + w + 6, y, style)
    x += width
  }
}

/** Where there is no rail for the remarks, the legend says what the dashed line parts.
 * @param {any} pen @param {any} lay @param {any} theme */
export function borderEntry(pen, lay, theme) {
  if (lay.rail) return []
  const dashes = (/** @type {number[]} */ ...[x, y, w, h]) => pen.line(x, y + h / 2, x + w, y + h / 2, theme.muted, 1, [4, 3])
  return [{ text: "above: prefill, below: decode", swatch: dashes }]
}

/** Height of the legend in the rail. @param {number} type @param {number} nEntries */
export const legendHeight = (type, nEntries) => type * (0.8 + 1.45 * (nEntries + 0.6))

/** Room that is not the picture: a rail at the right where it fits, else a band below.
 * @param {number} width @param {number} type @param {boolean} narrow @param {number} nEntries */
export function margins(width, type, narrow, nEntries) {
  const rail = narrow || width < type * 32 ? 0 : Math.round(type * 12)
  const lines = width < type * 40 ? 2 : 1
  return {
    rail,
    // The last slanted labels lean into the rail.
    railX: Math.round(type * 2.1),
    band: rail ? 0 : Math.round(type * (0.4 + 1.45 * lines)),
    legendBottom: rail ? legendHeight(type, nEntries) : 0,
  }
}

/** A lower triangle at one pixel a cell, for overviews and small multiples.
 * @param {number} n @param {string[]} ramp @param {(row: number, column: number) => number} shareAt in [0, 1] */
export function triangleBitmap(n, ramp, shareAt) {
  const packed = Uint32Array.from(ramp, packedColor)
  const last = packed.length - 1
  return pixelCanvas(n, n, (row, column) => (column <= row ? packed[Math.round(shareAt(row, column) * last)] : 0))
}

/** A colour as the 32 bits of an opaque pixel. @param {string} color */
function packedColor(color) {
  const [r, g, b] = parseColor(color)
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0
}

/** @param {number} width @param {number} height @param {(row: number, column: number) => number} pixelAt */
function pixelCanvas(width, height, pixelAt) {
  const canvas = document.createElement("canvas")
  canvas.width = width
  canvas.height = height
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"))
  const image = context.createImageData(width, height)
  const pixels = new Uint32Array(image.data.buffer)
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) pixels[row * width + column] = pixelAt(row, column)
  }
  context.putImageData(image, 0, 0)
  return canvas
}
