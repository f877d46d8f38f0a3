// @ts-check
/**
 * The cache as it grows: bytes against tokens above, the stored keys and values below, one shared
 * token axis. Pure functions of (payload, step, ms) through a pen, so screen, PNG and SVG agree.
 */
import { PHASE_ENDS, phasesAt } from "./run.mjs"

/** Gaps between K/V heads and between layers, in CSS pixels. */
const HEAD_GAP = 3
const LAYER_GAP = 9
const MAX_STRIP = 12
const MIN_STRIP = 2
/** Blocks are drawn apart from this width on; below, a strip is one bar. */
const BLOCKS_APART = 3
/** Width in letters from which the formula is spelled out in the key. */
const WORDY = 42

/** @typedef {{ x_max: number, y_max: number, x_ticks: [number, string][], y_ticks: [number, string][] }} Axis */

/**
 * Where everything lies: the same for every step, so nothing that is drawn ever moves.
 * @param {{ width: number, height: number, type: number, axis: Axis, nLayers: number, nKvHeads: number }} room
 */
export function growthLayout({ width, height, type, axis, nLayers, nKvHeads }) {
  const left = Math.round(type * 5.4)
  const right = Math.round(type * 1.2)
  const top = Math.round(type * 2.3)
  const between = Math.round(type * 2.6)
  const bottom = Math.round(type * 1.9)
  const nStrips = 2 * nLayers * nKvHeads
  const gaps = nLayers * (nKvHeads - 1) * HEAD_GAP + (nLayers - 1) * LAYER_GAP
  const room = Math.max(0, height - top - between - bottom)
  const strip = Math.max(MIN_STRIP, Math.min(MAX_STRIP, Math.floor((room * 0.42 - gaps) / nStrips)))
  const lanesHeight = nStrips * strip + gaps
  const chartHeight = Math.max(40, room - lanesHeight)
  const chartWidth = Math.max(40, width - left - right)
  return {
    type, left, top, width, height, chartWidth, chartHeight, axis, strip, lanesHeight,
    axisY: top + chartHeight,
    lanesTop: top + chartHeight + between,
    legendY: top + chartHeight + between + lanesHeight + type,
    perToken: chartWidth / axis.x_max,
    perByte: chartHeight / axis.y_max,
  }
}

/** @typedef {ReturnType<typeof growthLayout>} GrowthLayout */

/** Left edge of a token's column, and so the place of "that many tokens". @param {GrowthLayout} lay @param {number} tokens */
export const tokenX = (lay, tokens) => lay.left + tokens * lay.perToken

/** @param {GrowthLayout} lay @param {number} bytes */
export const byteY = (lay, bytes) => lay.axisY - bytes * lay.perByte

/** Top of the K strip of one head; V lies directly under it.
 * @param {GrowthLayout} lay @param {number} layer @param {number} head @param {number} nKvHeads */
export function laneY(lay, layer, head, nKvHeads) {
  const perHead = 2 * lay.strip + HEAD_GAP
  const perLayer = nKvHeads * perHead - HEAD_GAP + LAYER_GAP
  return lay.lanesTop + layer * perLayer + head * perHead
}

/**
 * How much of the new entries a layer shows at `ms`: the layers append one after the other, as
 * the pass goes through them.
 * @param {number} layer @param {number} nLayers @param {number} ms
 */
export function appendedAt(layer, nLayers, ms) {
  const share = Math.min(1, Math.max(0, ms / PHASE_ENDS.draw))
  return Math.min(1, Math.max(0, share * nLayers - layer))
}

/** Bytes at which the newest point stands while it rises. @param {number} before @param {number} after @param {number} ms */
export const risingBytes = (before, after, ms) => before + (after - before) * phasesAt(ms).settle

/** Corners of the stair of whole blocks up to `tokens`, in tokens and bytes.
 * @param {number} blockSize @param {number} perToken @param {number} tokens @returns {[number, number][]} */
export function stairCorners(blockSize, perToken, tokens) {
  /** @type {[number, number][]} */
  const corners = []
  for (let start = 0; start < tokens; start += blockSize) {
    const bytes = (start + blockSize) * perToken
    corners.push([start, bytes], [Math.min(start + blockSize, tokens), bytes])
  }
  return corners
}

/** Is there room for whole sentences inside the chart? @param {GrowthLayout} lay */
const wordy = (lay) => lay.chartWidth > lay.type * WORDY

/** Ticks of the token axis that do not touch each other; the last one always stays.
 * @param {[number, string][]} ticks @param {GrowthLayout} lay @returns {[number, string, boolean][]} */
export function fittingTicks(ticks, lay) {
  const last = ticks[ticks.length - 1]
  const letter = lay.type * 0.62
  const limit = lay.left + lay.chartWidth - letter * (last[1].length + 1)
  /** @type {[number, string, boolean][]} */
  const kept = []
  let free = -Infinity
  for (const [tokens, label] of ticks.slice(0, -1)) {
    const [x, half] = [tokenX(lay, tokens), (letter * label.length) / 2]
    if (x - half < free || x + half > limit) continue
    kept.push([tokens, label, false])
    free = x + half + letter
  }
  return [...kept, [last[0], last[1], true]]
}

export class GrowthPainter {
  /** @param {any} payload @param {"run"|"context"} span @param {Record<string, any>} theme */
  constructor(payload, span, theme) {
    this.payload = payload
    this.axis = /** @type {Axis} */ (payload.axes[span])
    this.theme = theme
  }

  /** @param {{ width: number, height: number }} room */
  layout({ width, height }) {
    const { n_layers: nLayers, n_kv_heads: nKvHeads } = this.payload
    return growthLayout({ width, height, type: this.theme.type, axis: this.axis, nLayers, nKvHeads })
  }

  /** @param {any} pen @param {GrowthLayout} lay @param {number} step @param {number} ms */
  paint(pen, lay, step, ms) {
    this.paintAxes(pen, lay)
    this.paintAllocated(pen, lay, step)
    this.paintFormula(pen, lay)
    this.paintLanes(pen, lay, step, ms)
    this.paintPoints(pen, lay, step, ms)
    this.paintKey(pen, lay)
    this.paintLaneKey(pen, lay)
  }

  /** @param {any} pen @param {GrowthLayout} lay */
  paintAxes(pen, lay) {
    const { theme, axis } = this
    const style = { size: lay.type, family: theme.mono, fill: theme.muted }
    for (const [bytes, label] of axis.y_ticks) {
      const y = Math.round(byteY(lay, bytes)) + 0.5
      pen.line(lay.left, y, lay.left + lay.chartWidth, y, bytes ? theme.faint : theme.line, 1)
      pen.text(label, lay.left - 8, y, { ...style, align: "right" })
    }
    const edge = lay.left + lay.chartWidth
    for (const [tokens, label, isLast] of fittingTicks(axis.x_ticks, lay)) {
      const x = tokenX(lay, tokens)
      pen.line(x, lay.axisY, x, lay.axisY + 4, theme.line, 1)
      pen.text(label, isLast ? edge : x, lay.axisY + lay.type * 1.1, { ...style, align: isLast ? "right" : "center" })
    }
    if (wordy(lay)) pen.text(this.payload.words.bytes, 0, lay.type * 0.6, { size: lay.type, family: theme.sans, fill: theme.muted })
  }

  /** The line that theory draws, all the way. @param {any} pen @param {GrowthLayout} lay */
  paintFormula(pen, lay) {
    const { x_max: last } = this.axis
    pen.line(lay.left, lay.axisY, tokenX(lay, last), byteY(lay, last * this.payload.per_token_bytes), this.theme.muted, 1.25)
  }

  /** The stair of whole blocks so far, what of it is unused, and what this run reserved at once.
   * @param {any} pen @param {GrowthLayout} lay @param {number} step */
  paintAllocated(pen, lay, step) {
    const { theme, payload } = this
    const { block_size: size, per_token_bytes: perToken } = payload
    const tokens = payload.steps[step].context_len
    const corners = stairCorners(size, perToken, tokens)
    for (let i = 0; i < corners.length; i += 2) {
      const [from, to, y] = [tokenX(lay, corners[i][0]), tokenX(lay, corners[i + 1][0]), byteY(lay, corners[i][1])]
      pen.rect(from, y, to - from, lay.axisY - y, theme.soft)
      if (i > 0) pen.line(from, byteY(lay, corners[i - 1][1]), from, y, theme["cached-text"], 1.25)
      pen.line(from, y, to, y, theme["cached-text"], 1.25)
    }
    const reserved = payload.steps[step].allocated_bytes
    const y = byteY(lay, reserved)
    const label = wordy(lay) ? payload.words.reserved : payload.words.reserved_short
    const color = theme["cached-text"]
    const style = { size: lay.type, family: theme.sans, fill: color, align: "right" }
    const edge = lay.left + lay.chartWidth
    if (y < lay.top - 1) pen.text(`↑ ${label}`, edge, lay.type * 0.6, style)
    else {
      pen.line(lay.left, y, edge, y, color, 1.5, [6, 4])
      pen.text(label, edge, Math.max(lay.type * 0.6, y - lay.type * 0.9), style)
    }
  }

  /** Measured points: one for the prefill, one for every step since; the newest in blue.
   * @param {any} pen @param {GrowthLayout} lay @param {number} step @param {number} ms */
  paintPoints(pen, lay, step, ms) {
    const { theme, payload } = this
    const radius = Math.max(1.6, Math.min(4, lay.perToken * 0.42))
    const dot = (/** @type {number} */ tokens, /** @type {number} */ bytes, /** @type {number} */ r, /** @type {string} */ fill) =>
      pen.rect(tokenX(lay, tokens) - r, byteY(lay, bytes) - r, 2 * r, 2 * r, fill, r)
    for (let s = 0; s < step; s++) dot(payload.steps[s].context_len, payload.steps[s].in_use_bytes, radius, theme.cached)
    const now = payload.steps[step]
    const before = step > 0 ? payload.steps[step - 1] : { context_len: 0, in_use_bytes: 0 }
    const bytes = risingBytes(before.in_use_bytes, now.in_use_bytes, ms)
    const tokens = risingBytes(before.context_len, now.context_len, ms)
    const [x, y] = [tokenX(lay, tokens), byteY(lay, bytes)]
    const color = step > 0 ? theme.new : theme["cached-text"]
    pen.line(x, y, x, lay.lanesTop + lay.lanesHeight, color, 1, [2, 3])
    dot(tokens, bytes, Math.max(5, radius + 2), color)
    if (ms >= PHASE_ENDS.settle) this.paintReading(pen, lay, x, y, now.in_use_text, step > 0)
  }

  /** @param {any} pen @param {GrowthLayout} lay @param {number} x @param {number} y @param {string} text @param {boolean} isNew */
  paintReading(pen, lay, x, y, text, isNew) {
    const { theme } = this
    const size = lay.type * 1.15
    const style = { size, family: theme.mono, weight: 600, fill: isNew ? theme["new-text"] : theme["cached-text"], align: "left" }
    const width = size * 0.62 * text.length
    const inside = x + 12 + width <= lay.left + lay.chartWidth
    pen.rect(inside ? x + 10 : x - 14 - width, y + size * 0.35, width + 6, size * 1.4, theme.ground, 3)
    pen.text(text, inside ? x + 13 : x - 12, y + size * 1.05, { ...style, align: inside ? "left" : "right" })
  }

  /** What the cache holds: K over V for every K/V head of every layer, one column a token.
   * @param {any} pen @param {GrowthLayout} lay @param {number} step @param {number} ms */
  paintLanes(pen, lay, step, ms) {
    const { theme, payload } = this
    const { n_layers: nLayers, n_kv_heads: nKvHeads } = payload
    const now = payload.steps[step].context_len
    const before = step > 0 ? payload.steps[step - 1].context_len : 0
    for (let layer = 0; layer < nLayers; layer++) {
      const shown = appendedAt(layer, nLayers, ms)
      for (let head = 0; head < nKvHeads; head++) {
        const y = laneY(lay, layer, head, nKvHeads)
        pen.box(lay.left - 1, y - 1, lay.chartWidth + 2, 2 * lay.strip + 2, theme.faint, 1)
        this.paintStrip(pen, lay, y, before, now, shown, theme.k, step > 0)
        this.paintStrip(pen, lay, y + lay.strip, before, now, shown, theme.v, step > 0)
      }
      const middle = laneY(lay, layer, 0, nKvHeads) + (nKvHeads * (2 * lay.strip + HEAD_GAP) - HEAD_GAP) / 2
      const size = Math.min(lay.type, 2 * nKvHeads * lay.strip)
      pen.text(`layer ${layer}`, lay.left - 8, middle, { size, family: theme.sans, fill: theme.muted, align: "right" })
    }
  }

  /** @param {any} pen @param {GrowthLayout} lay @param {number} y @param {number} before @param {number} now @param {number} shown @param {string} fill @param {boolean} isStep */
  paintStrip(pen, lay, y, before, now, shown, fill, isStep) {
    const gap = lay.perToken >= BLOCKS_APART ? Math.min(1, lay.perToken / 6) : 0
    const height = lay.strip - (lay.strip > 4 ? 1 : 0)
    const old = isStep ? before : now
    const share = isStep ? 1 : shown
    if (gap === 0) pen.rect(lay.left, y, lay.perToken * old * share, height, fill)
    else for (let c = 0; c < old * share; c++) pen.rect(tokenX(lay, c), y, lay.perToken - gap, height, fill)
    if (!isStep || shown <= 0) return
    for (let c = before; c < now; c++) pen.rect(tokenX(lay, c), y, Math.max(2, (lay.perToken - gap) * shown), height, this.theme.new)
  }

  /** The key of the curve, in the corner that a growing line leaves empty. @param {any} pen @param {GrowthLayout} lay */
  paintKey(pen, lay) {
    const { theme, payload } = this
    const step = lay.type * 1.5
    const style = { size: lay.type, family: theme.sans, fill: theme.ink }
    const [x, y] = [lay.left + lay.type, lay.top + lay.type * 0.9]
    const w = lay.type * 1.8
    const words = wordy(lay) ? payload.words.key : payload.words.short_key
    const entries = /** @type {[string, (y: number) => void][]} */ ([
      [words.in_use, (at) => pen.rect(x + w / 2 - 4, at - 4, 8, 8, theme.cached, 4)],
      [words.formula, (at) => pen.line(x, at, x + w, at, theme.muted, 1.25)],
      [words.blocks, (at) => {
        pen.rect(x, at - 4, w, 8, theme.soft)
        pen.line(x, at - 4, x + w, at - 4, theme["cached-text"], 1.25)
      }],
    ])
    entries.forEach(([text, swatch], i) => {
      swatch(y + i * step)
      pen.text(text, x + w + 8, y + i * step, style)
    })
  }

  /** @param {any} pen @param {GrowthLayout} lay */
  paintLaneKey(pen, lay) {
    const { theme, payload } = this
    const style = { size: lay.type, family: theme.sans, fill: theme.muted }
    let x = lay.left
    for (const [name, text] of /** @type {[string, string][]} */ (payload.words.lanes)) {
      pen.rect(x, lay.legendY - lay.type * 0.35, lay.type * 0.7, lay.type * 0.7, theme[name], 1)
      pen.text(text, x + lay.type, lay.legendY, style)
      x += lay.type * (1.9 + 0.52 * text.length)
    }
    const right = lay.left + lay.chartWidth
    if (right - x > lay.type * 0.5 * payload.words.lanes_title.length) {
      pen.text(payload.words.lanes_title, right, lay.legendY, { ...style, align: "right" })
    }
  }

  /** Token whose column lies under a point, or null. @param {GrowthLayout} lay @param {number} px @param {number} py @param {number} step */
  hit(lay, px, py, step) {
    const token = Math.floor((px - lay.left) / lay.perToken)
    const inside = py >= lay.top && py <= lay.lanesTop + lay.lanesHeight
    return inside && token >= 0 && token < this.payload.steps[step].context_len ? token : null
  }
}
