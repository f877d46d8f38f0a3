// @ts-check
/**
 * One axis of milliseconds, three pictures on it: the latency of every token, how often each
 * latency came, and what one token's time consists of. Pure functions of (payload, room);
 * values, ticks and every word come from Python.
 */
import { drawPath, spreadLabels } from "./linechart.mjs"
import { textWidth } from "./pen.mjs"

/**
 * @typedef {{ ms: number[], low?: number[], high?: number[], per: number, first: number }} LiveSeries
 *   `ms` holds the middle of every `per` tokens, `low` and `high` their extremes where per > 1
 * @typedef {{ from: number, to: number, ms: number }} LiveFloor
 * @typedef {{ label: string, value: string, kind: string, color: string, ms: number }} LivePart
 */

/** A share of the axis, 0 at its foot; beyond the top it stays at the top.
 * @param {number} ms @param {number} top */
export const latencyShare = (ms, top) => Math.min(1, Math.max(0, ms / top))

/**
 * Places of the three pictures in a room. Without room for words beside the bar, the words are
 * left to a list below (`words` 0).
 * @param {{ width: number, height: number, type: number, tickWidth: number, wordWidth: number, hasParts: boolean }} room
 */
export function liveLayout({ width, height, type, tickWidth, wordWidth, hasParts }) {
  const left = Math.ceil(tickWidth) + 10
  const top = Math.round(type * 1.9)
  const bottom = Math.round(type * 2.5)
  const wide = width > 560
  const words = hasParts && wide ? Math.min(wordWidth + 12, width * 0.3) : 0
  const bar = hasParts ? (wide ? 72 : 38) : 0
  const gap = wide ? 22 : 12
  const histogram = wide ? Math.max(60, Math.round(width * 0.1)) : 44
  const right = words + bar + (hasParts ? gap : 0)
  const stripWidth = Math.max(60, width - left - right - histogram - 8)
  const histogramX = left + stripWidth + 8
  const barX = histogramX + histogram + gap
  return {
    type, left, top, width, height, stripWidth, histogramX, histogramWidth: histogram,
    barX, barWidth: bar, wordsX: barX + bar + 12, words, chartHeight: Math.max(60, height - top - bottom),
  }
}

/** Corners of the line through a series, in pixels, breaking nowhere.
 * @param {LiveSeries} series @param {number[]} values @param {any} lay @param {number} planned @param {number} top */
export function seriesCorners(series, values, lay, planned, top) {
  return values.map((ms, i) => [
    lay.left + (lay.stripWidth * (series.first + (i + 0.5) * series.per)) / Math.max(1, planned),
    lay.top + lay.chartHeight * (1 - latencyShare(ms, top)),
  ])
}

/** Boxes of the stacked parts from the foot upwards, in pixels; nothing thinner than a hair is lost.
 * @param {LivePart[]} parts @param {any} lay @param {number} top */
export function stackBoxes(parts, lay, top) {
  const scale = lay.chartHeight / top
  let foot = lay.top + lay.chartHeight
  return parts.map((part) => {
    const height = Math.max(part.ms > 0 ? 1.5 : 0, part.ms * scale)
    foot -= height
    return { y: foot, height, part }
  })
}

export class LatencyPainter {
  /** @param {any} payload @param {Record<string, any>} theme */
  constructor(payload, theme) {
    this.payload = payload
    this.theme = theme
  }

  /** @param {{ width: number, height: number }} room */
  layout({ width, height }) {
    const { type, mono, sans } = this.theme
    const { axis, parts } = this.payload
    const tick = (/** @type {string} */ text) => textWidth(text, { size: type, family: mono, fill: "" })
    const word = (/** @type {string} */ text, weight = 400) => textWidth(text, { size: type, family: sans, fill: "", weight })
    return liveLayout({
      width, height, type, hasParts: parts.length > 0,
      tickWidth: Math.max(0, ...axis.ticks.map((/** @type {[number, string]} */ [, label]) => tick(label))),
      wordWidth: Math.max(0, ...parts.map((/** @type {any} */ part) => Math.max(word(part.label, 600), word(`${part.value} · ${part.kind}`)))),
    })
  }

  /** @param {any} lay @param {number} ms */
  yOf(lay, ms) {
    return lay.top + lay.chartHeight * (1 - latencyShare(ms, this.payload.axis.max))
  }

  /** @param {any} pen @param {any} lay */
  paint(pen, lay) {
    this.paintAxis(pen, lay)
    this.paintParts(pen, lay)
    for (const other of this.payload.overlays) this.paintSeries(pen, lay, other, this.theme[other.color], 1.5)
    this.paintSeries(pen, lay, this.payload.series, this.theme["new-text"], 2)
    this.paintHistogram(pen, lay)
    this.paintFloor(pen, lay)
    this.paintNewest(pen, lay)
  }

  /** @param {any} pen @param {any} lay */
  paintAxis(pen, lay) {
    const { theme } = this
    const { axis } = this.payload
    const style = { size: lay.type, family: theme.mono, fill: theme.muted }
    const words = { size: lay.type, family: theme.sans, fill: theme.muted }
    const right = lay.barWidth ? lay.barX + lay.barWidth : lay.histogramX + lay.histogramWidth
    for (const [value, label] of axis.ticks) {
      const y = Math.round(this.yOf(lay, value)) + 0.5
      pen.line(lay.left, y, right, y, theme.faint, 1)
      pen.text(label, lay.left - 8, y, { ...style, align: "right" })
    }
    const foot = lay.top + lay.chartHeight
    pen.text(axis.label, 0, lay.type * 0.7, words)
    const below = foot + lay.type * 1.1
    pen.text(axis.first, lay.left, below, words)
    pen.text(axis.tokens, lay.left + lay.stripWidth, below, { ...words, align: "right" })
    this.payload.overlays.forEach((/** @type {any} */ other, /** @type {number} */ i) =>
      pen.text(other.label, lay.left + lay.stripWidth / 2, below + (i - (this.payload.overlays.length - 1)) * lay.type, { ...words, fill: theme[other.color], align: "center" }))
    if (axis.often && lay.histogramWidth > 60) pen.text(axis.often, lay.histogramX, below, words)
    if (axis.beyond) pen.text(axis.beyond, lay.left + lay.stripWidth, lay.type * 0.7, { ...words, fill: theme["limit-text"], align: "right" })
  }

  /** @param {any} pen @param {any} lay @param {LiveSeries} series @param {string} color @param {number} width */
  paintSeries(pen, lay, series, color, width) {
    if (!series || !series.ms.length) return
    const { planned, axis } = this.payload
    const at = (/** @type {number[]} */ values) => seriesCorners(series, values, lay, planned, axis.max)
    if (series.low && series.high) drawPath(pen, [...at(series.high), ...at(series.low).reverse()], "", 0, [], color)
    const corners = at(series.ms)
    if (corners.length === 1) pen.rect(corners[0][0] - 1, corners[0][1] - 1, 2, 2, color)
    drawPath(pen, corners, color, width)
    const highest = series.high ?? series.ms
    highest.forEach((ms, i) => {
      if (ms > axis.max) pen.rect(corners[i][0] - 1, lay.top - 5, 2, 5, this.theme["limit-text"])
    })
  }

  /** @param {any} pen @param {any} lay */
  paintFloor(pen, lay) {
    const { floors, floor_label: label, planned, axis } = this.payload
    if (!floors.length) return
    const { theme } = this
    const color = theme["limit-text"]
    const x = (/** @type {number} */ token) => lay.left + (lay.stripWidth * token) / Math.max(1, planned)
    for (const { from, to, ms } of floors) {
      if (ms > axis.max) continue
      const y = this.yOf(lay, ms)
      const last = to >= planned
      const end = last ? (lay.barWidth ? lay.barX + lay.barWidth : lay.histogramX + lay.histogramWidth) : x(to)
      pen.line(x(from), y, end, y, color, 2, [7, 4])
    }
    const style = { size: lay.type, family: theme.sans, fill: color }
    const y = this.yOf(lay, floors[0].ms)
    const foot = lay.top + lay.chartHeight
    const below = y + lay.type * 1.9 < foot
    const width = textWidth(label, style)
    const middle = below ? y + lay.type * 0.95 : y - lay.type * 0.9
    pen.rect(lay.left + 3, middle - lay.type * 0.62, Math.min(width + 6, lay.stripWidth), lay.type * 1.24, theme.ground, 3)
    pen.text(label, lay.left + 6, middle, style)
  }

  /** The newest token: a blue dot. @param {any} pen @param {any} lay */
  paintNewest(pen, lay) {
    const { series, planned, axis, running } = this.payload
    if (!running || !series.ms.length) return
    const corners = seriesCorners(series, series.ms, lay, planned, axis.max)
    const [x, y] = corners[corners.length - 1]
    pen.rect(x - 6, y - 6, 12, 12, this.theme.new, 6)
  }

  /** How often each latency came: bars that lie against the strip. @param {any} pen @param {any} lay */
  paintHistogram(pen, lay) {
    const { histogram, overlays } = this.payload
    const most = Math.max(1, ...histogram.counts, ...overlays.flatMap((/** @type {any} */ o) => o.counts ?? []))
    const bars = (/** @type {number[]} */ counts, /** @type {(x: number, y: number, w: number, h: number) => void} */ draw) =>
      counts.forEach((count, i) => {
        if (!count) return
        const [low, high] = [histogram.edges[i], histogram.edges[i + 1]]
        const y = this.yOf(lay, high)
        draw(lay.histogramX, y, Math.max(2, (lay.histogramWidth * count) / most), Math.max(1.5, this.yOf(lay, low) - y - 0.5))
      })
    bars(histogram.counts, (x, y, w, h) => pen.rect(x, y, w, h, this.theme.new))
    for (const other of overlays) bars(other.counts ?? [], (x, y, w, h) => pen.box(x, y, w, h, this.theme[other.color], 1))
  }

  /** @param {any} pen @param {any} lay */
  paintParts(pen, lay) {
    const { parts, axis, parts_title: title } = this.payload
    if (!parts.length) return
    const { theme } = this
    const boxes = stackBoxes(parts, lay, axis.max)
    for (const { y, height, part } of boxes) pen.rect(lay.barX, y, lay.barWidth, Math.max(1, height - 1), theme[part.color], Math.min(3, height / 3))
    const strong = { size: lay.type, family: theme.sans, fill: theme.ink, weight: 600 }
    const plain = { size: lay.type, family: theme.sans, fill: theme.muted }
    if (!lay.words) return
    pen.text(title, lay.barX, lay.type * 0.7, plain)
    const line = lay.type * 1.2
    const shown = boxes.filter(({ part }) => part.value)
    const wanted = shown.map(({ y, height }) => y + height / 2).reverse()
    const places = spreadLabels(wanted, line * 2.25, lay.top + line * 0.4, lay.top + lay.chartHeight - line * 0.4).reverse()
    shown.forEach(({ y, height, part }, i) => {
      const middle = y + height / 2
      pen.line(lay.barX + lay.barWidth, middle, lay.wordsX - 4, places[i], theme.line, 1)
      pen.text(part.label, lay.wordsX, places[i] - line / 2, strong)
      pen.text(`${part.value} · ${part.kind}`, lay.wordsX, places[i] + line / 2, plain)
    })
  }

  /** The token under the pointer, or null. @param {any} lay @param {number} px @param {number} py */
  hit(lay, px, py) {
    const { series, planned } = this.payload
    if (px < lay.left || px > lay.left + lay.stripWidth || py < lay.top || py > lay.top + lay.chartHeight) return null
    const token = ((px - lay.left) / lay.stripWidth) * planned - series.first
    const index = Math.floor(token / series.per)
    return index >= 0 && index < series.ms.length ? index : null
  }
}
