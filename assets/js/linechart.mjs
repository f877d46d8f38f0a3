// @ts-check
/**
 * Lines over two axes, linear or logarithmic: pure functions of (chart, scale) through a pen.
 * Values, ticks and every word come from Python; only positions are computed here.
 */
import { textWidth } from "./pen.mjs"

/**
 * @typedef {{ min: number, max: number, label: string, ticks: [number, string][] }} ChartAxis
 * @typedef {{ id: string, label: string, color: string, x: number[], y: number[], texts?: string[], dash?: number[], width?: number, fill?: number[] }} ChartLine
 *   `fill` holds the lower edge of a band whose upper edge is the line
 * @typedef {{ label: string, color: string, y: number }} ChartLevel
 * @typedef {{ label: string, color: string, x: number, y: number }} ChartMark
 * @typedef {{ kind: { x: "linear"|"log", y: "linear"|"log" }, x: ChartAxis, y: ChartAxis }} ChartScale
 * @typedef {{ id: string, label: string, scales: Record<string, ChartScale>, lines: ChartLine[], levels: ChartLevel[], marks: ChartMark[], cursor: { x: number, label: string }|null, x_texts: string[] }} Chart
 */

/** Height of a label line in units of the type size. */
const LINE_STEP = 1.3

/** Where a value lies on an axis, 0 at its low end and 1 at its high end; outside where outside.
 * @param {number} value @param {ChartAxis} axis @param {"linear"|"log"} kind */
export function axisShare(value, axis, kind) {
  if (kind === "linear") return (value - axis.min) / (axis.max - axis.min)
  const low = Math.log(axis.min)
  return (Math.log(Math.max(value, Number.MIN_VALUE)) - low) / (Math.log(axis.max) - low)
}

/** The part of a segment inside [0, 1] in both shares, or null.
 * @param {number[]} a @param {number[]} b @returns {[number[], number[]]|null} */
export function clipSegment(a, b) {
  let [from, to] = [0, 1]
  for (const i of [0, 1]) {
    const [start, delta] = [a[i], b[i] - a[i]]
    if (delta === 0) {
      if (start < 0 || start > 1) return null
      continue
    }
    const [enter, leave] = [(0 - start) / delta, (1 - start) / delta].sort((p, q) => p - q)
    ;[from, to] = [Math.max(from, enter), Math.min(to, leave)]
  }
  if (from > to) return null
  const at = (/** @type {number} */ t) => [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t]
  return [at(from), at(to)]
}

/** Move labels apart vertically, keeping their order, inside a range.
 * @param {number[]} wanted sorted positions @param {number} gap @param {number} low @param {number} high */
export function spreadLabels(wanted, gap, low, high) {
  const placed = [...wanted]
  for (let i = 0; i < placed.length; i++) placed[i] = Math.max(placed[i], i ? placed[i - 1] + gap : low)
  for (let i = placed.length - 1; i >= 0; i--) placed[i] = Math.min(placed[i], i < placed.length - 1 ? placed[i + 1] - gap : high)
  return placed
}

/**
 * Where a mark's label goes: right below its point, where a rising line leaves room; to the left
 * above it at the right edge; above it at the bottom.
 * @param {number} x @param {number} y @param {number} width of the label @param {any} lay
 */
export function labelPlace(x, y, width, lay) {
  const right = x + width + 12 <= lay.left + lay.chartWidth
  const low = y + lay.type * 1.8 > lay.top + lay.chartHeight
  return { dx: right ? 10 : -width - 10, dy: right && !low ? lay.type * 1.1 : -lay.type * 1.1 }
}

/**
 * A line through points: one stroke on a canvas, one element in an SVG.
 * @param {any} pen @param {number[][]} points @param {string} stroke @param {number} width @param {number[]} [dash] @param {string} [fill]
 */
export function drawPath(pen, points, stroke, width, dash = [], fill = "") {
  if (points.length < 2) return
  if (pen.parts) {
    const list = points.map(([x, y]) => `${Math.round(x * 10) / 10},${Math.round(y * 10) / 10}`).join(" ")
    const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : ""
    pen.parts.push(fill
      ? `<polygon points="${list}" fill="${fill}" fill-opacity="0.22"/>`
      : `<polyline points="${list}" fill="none" stroke="${stroke}" stroke-width="${width}" stroke-linejoin="round"${dashes}/>`)
    return
  }
  const c = pen.context
  c.beginPath()
  points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)))
  if (fill) {
    c.globalAlpha = 0.22
    c.fillStyle = fill
    c.fill()
    c.globalAlpha = 1
    return
  }
  c.strokeStyle = stroke
  c.lineWidth = width
  c.lineJoin = "round"
  c.setLineDash(dash)
  c.stroke()
  c.setLineDash([])
}

export class LinePainter {
  /** @param {Chart} chart @param {string} scale key of `chart.scales` @param {Record<string, any>} theme */
  constructor(chart, scale, theme) {
    this.chart = chart
    this.scale = chart.scales[scale] ?? Object.values(chart.scales)[0]
    this.theme = theme
  }

  /** @param {{ width: number, height: number }} room */
  layout({ width, height }) {
    const { type, mono, sans } = this.theme
    const widest = (/** @type {string[]} */ texts, /** @type {string} */ family) =>
      Math.max(0, ...texts.map((text) => textWidth(text, { size: type, family, fill: "" })))
    const left = Math.ceil(widest(this.scale.y.ticks.map(([, label]) => label), mono)) + 12
    const names = Math.ceil(widest(this.chart.lines.map((line) => line.label), sans))
    const beside = width - left - names > 300
    const right = beside ? names + 16 : Math.round(type * 0.8)
    const top = Math.round(type * (this.chart.cursor ? 2.8 : 1.8))
    const keyRows = beside ? 0 : this.chart.lines.filter((line) => line.label).length
    const bottom = Math.round(type * (2.6 + keyRows * LINE_STEP))
    return {
      type, left, top, beside, width, height,
      chartWidth: Math.max(40, width - left - right), chartHeight: Math.max(40, height - top - bottom),
    }
  }

  /** @param {any} lay @param {number} x */
  xOf(lay, x) {
    return lay.left + lay.chartWidth * axisShare(x, this.scale.x, this.scale.kind.x)
  }

  /** @param {any} lay @param {number} y */
  yOf(lay, y) {
    return lay.top + lay.chartHeight * (1 - axisShare(y, this.scale.y, this.scale.kind.y))
  }

  /** @param {any} pen @param {any} lay @param {number|null} hover index of a sampled point */
  paint(pen, lay, hover = null) {
    this.paintAxes(pen, lay)
    for (const line of this.chart.lines) if (line.fill) this.paintBand(pen, lay, line)
    for (const level of this.chart.levels) this.paintLevel(pen, lay, level)
    for (const line of this.chart.lines) this.paintLine(pen, lay, line)
    this.paintCursor(pen, lay)
    for (const mark of this.chart.marks) this.paintMark(pen, lay, mark)
    this.paintNames(pen, lay)
    if (hover !== null) this.paintHover(pen, lay, hover)
  }

  /** @param {any} pen @param {any} lay */
  paintAxes(pen, lay) {
    const { theme, scale } = this
    const style = { size: lay.type, family: theme.mono, fill: theme.muted }
    const words = { size: lay.type, family: theme.sans, fill: theme.muted }
    const base = lay.top + lay.chartHeight
    for (const [value, label] of scale.y.ticks) {
      const y = Math.round(this.yOf(lay, value)) + 0.5
      pen.line(lay.left, y, lay.left + lay.chartWidth, y, theme.faint, 1)
      pen.text(label, lay.left - 8, y, { ...style, align: "right" })
    }
    pen.line(lay.left, base + 0.5, lay.left + lay.chartWidth, base + 0.5, theme.line, 1)
    let free = -Infinity
    for (const [value, label] of scale.x.ticks) {
      const x = this.xOf(lay, value)
      const half = textWidth(label, style) / 2
      pen.line(x, base, x, base + 4, theme.line, 1)
      const middle = Math.min(x, lay.width - half)
      if (middle - half < free) continue
      pen.text(label, middle, base + lay.type * 1.05, { ...style, align: "center" })
      free = middle + half + lay.type * 0.6
    }
    pen.text(scale.y.label, 0, lay.type * 0.6, words)
    pen.text(scale.x.label, lay.left + lay.chartWidth, base + lay.type * 2.2, { ...words, align: "right" })
  }

  /** @param {number[]} xs @param {number[]} ys @returns {number[][]} */
  shares(xs, ys) {
    const { x, y, kind } = this.scale
    return xs.map((value, i) => [axisShare(value, x, kind.x), axisShare(ys[i], y, kind.y)])
  }

  /** Corners inside the chart, in pixels. @param {any} lay @param {number[]} xs @param {number[]} ys */
  corners(lay, xs, ys) {
    const shares = this.shares(xs, ys)
    /** @type {number[][]} */
    const points = []
    const place = (/** @type {number[]} */ [sx, sy]) => [lay.left + lay.chartWidth * sx, lay.top + lay.chartHeight * (1 - sy)]
    for (let i = 1; i < shares.length; i++) {
      const part = clipSegment(shares[i - 1], shares[i])
      if (!part) continue
      if (!points.length) points.push(place(part[0]))
      points.push(place(part[1]))
    }
    return points
  }

  /** @param {any} pen @param {any} lay @param {ChartLine} line */
  paintLine(pen, lay, line) {
    drawPath(pen, this.corners(lay, line.x, line.y), this.theme[line.color], line.width ?? 2, line.dash)
  }

  /** @param {any} pen @param {any} lay @param {ChartLine} line */
  paintBand(pen, lay, line) {
    const clamp = (/** @type {number[]} */ [sx, sy]) => [sx, Math.min(1, Math.max(0, sy))]
    const place = (/** @type {number[]} */ [sx, sy]) => [lay.left + lay.chartWidth * sx, lay.top + lay.chartHeight * (1 - sy)]
    const inside = (/** @type {number[]} */ [sx]) => sx >= 0 && sx <= 1
    const upper = this.shares(line.x, line.y).filter(inside).map(clamp).map(place)
    const lower = this.shares(line.x, /** @type {number[]} */ (line.fill)).filter(inside).map(clamp).map(place)
    drawPath(pen, [...upper, ...lower.reverse()], "", 0, [], this.theme[line.color])
  }

  /** @param {any} pen @param {any} lay @param {ChartLevel} level */
  paintLevel(pen, lay, { y: value, label, color }) {
    const share = axisShare(value, this.scale.y, this.scale.kind.y)
    if (share < 0 || share > 1.0001) return
    const y = this.yOf(lay, value)
    pen.line(lay.left, y, lay.left + lay.chartWidth, y, this.theme[color], 1.5, [7, 4])
    const style = { size: lay.type, family: this.theme.sans, fill: this.theme[color] }
    const above = y - lay.type > lay.top
    pen.text(label, lay.left + 6, above ? y - lay.type * 0.7 : y + lay.type * 0.8, style)
  }

  /** @param {any} pen @param {any} lay @param {ChartMark} mark */
  paintMark(pen, lay, { x: vx, y: vy, label, color }) {
    const { x: ax, y: ay, kind } = this.scale
    const [sx, sy] = [axisShare(vx, ax, kind.x), axisShare(vy, ay, kind.y)]
    if (sx < 0 || sx > 1 || sy < 0 || sy > 1) return
    const [x, y] = [this.xOf(lay, vx), this.yOf(lay, vy)]
    const { theme } = this
    pen.rect(x - 6, y - 6, 12, 12, theme.ground, 6)
    pen.rect(x - 4.5, y - 4.5, 9, 9, theme[color], 4.5)
    if (!label) return
    const style = { size: lay.type, family: theme.sans, weight: 600, fill: theme[color] }
    const width = textWidth(label, style)
    const { dx, dy } = labelPlace(x, y, width, lay)
    const [start, middle] = [x + dx, y + dy]
    pen.rect(start - 3, middle - lay.type * 0.7, width + 6, lay.type * 1.4, theme.ground, 3)
    pen.text(label, start, middle, style)
  }

  /** The chosen place: a thin line, and a dot where it meets each line. @param {any} pen @param {any} lay */
  paintCursor(pen, lay) {
    const { cursor } = this.chart
    if (!cursor) return
    const share = axisShare(cursor.x, this.scale.x, this.scale.kind.x)
    if (share < 0 || share > 1) return
    const x = this.xOf(lay, cursor.x)
    const { theme } = this
    pen.line(x, lay.top, x, lay.top + lay.chartHeight, theme.ink, 1, [2, 3])
    const style = { size: lay.type, family: theme.sans, weight: 600, fill: theme.ink }
    const width = textWidth(cursor.label, style)
    const middle = Math.min(Math.max(x, lay.left + width / 2), lay.left + lay.chartWidth - width / 2)
    pen.text(cursor.label, middle, lay.top - lay.type * 0.65, { ...style, align: "center" })
  }

  /** Names at the right ends, or a key below where there is no room. @param {any} pen @param {any} lay */
  paintNames(pen, lay) {
    const { theme } = this
    const named = this.chart.lines.filter((line) => line.label)
    const style = { size: lay.type, family: theme.sans }
    if (!lay.beside) {
      named.forEach((line, i) => {
        const y = lay.top + lay.chartHeight + lay.type * (2.2 + (i + 0.6) * LINE_STEP)
        pen.line(lay.left, y, lay.left + lay.type * 1.6, y, theme[line.color], 2.5, line.dash)
        pen.text(line.label, lay.left + lay.type * 2.2, y, { ...style, fill: theme[line.color] })
      })
      return
    }
    const ends = named
      .map((line) => ({ line, point: this.corners(lay, line.x, line.y).pop() }))
      .filter(({ point }) => point !== undefined)
      .sort((a, b) => /** @type {any} */ (a.point)[1] - /** @type {any} */ (b.point)[1])
    const wanted = ends.map(({ point }) => /** @type {any} */ (point)[1])
    const places = spreadLabels(wanted, lay.type * LINE_STEP, lay.top + lay.type * 0.5, lay.top + lay.chartHeight)
    ends.forEach(({ line }, i) =>
      pen.text(line.label, lay.left + lay.chartWidth + 8, places[i], { ...style, weight: line.width && line.width > 2 ? 600 : 400, fill: theme[line.color] }))
  }

  /** Values of a sampled point. @param {any} pen @param {any} lay @param {number} index */
  paintHover(pen, lay, index) {
    const { theme } = this
    const place = this.chart.lines[0].x[index]
    const x = this.xOf(lay, place)
    pen.line(x, lay.top, x, lay.top + lay.chartHeight, theme.muted, 1)
    for (const line of this.chart.lines) {
      if (!line.texts || line.x[index] === undefined) continue
      const share = axisShare(line.y[index], this.scale.y, this.scale.kind.y)
      if (share < 0 || share > 1) continue
      const y = this.yOf(lay, line.y[index])
      pen.rect(x - 3.5, y - 3.5, 7, 7, theme[line.color], 3.5)
    }
  }

  /** Sampled point nearest to a place, or null outside. @param {any} lay @param {number} px @param {number} py */
  hit(lay, px, py) {
    const inside = px >= lay.left && px <= lay.left + lay.chartWidth && py >= lay.top && py <= lay.top + lay.chartHeight
    const samples = this.chart.lines[0]
    if (!inside || !samples?.texts) return null
    let best = 0
    samples.x.forEach((value, i) => {
      if (Math.abs(this.xOf(lay, value) - px) < Math.abs(this.xOf(lay, samples.x[best]) - px)) best = i
    })
    return best
  }

  /** What a sampled point says: its place, then one line of text a line. @param {number} index */
  describe(index) {
    const rows = this.chart.lines.filter((line) => line.texts?.[index]).map((line) => `${line.label || line.id}: ${line.texts?.[index]}`)
    return { title: this.chart.x_texts[index] ?? "", rows }
  }
}
