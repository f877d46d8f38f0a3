// @ts-check
/** Where the triangle's parts lie, and how a new row grows: numbers only. */
import { strength } from "./draw.mjs"
import { COLUMN_ANGLE, margins } from "./paint.mjs"
import { phasesAt } from "./run.mjs"

const MAX_CELL = 36
/** A fitted cell is never smaller than this: the picture scrolls instead. */
export const MIN_CELL = 4
const LEGEND_ENTRIES = 3

/**
 * Where everything lies; made for all rows of the run from the start, so no row ever moves.
 * @param {{ nRows: number, width: number, height: number, cell: number|null, dpr: number, type: number, narrow: boolean }} room
 *   `cell` null fits the picture into the room
 */
export function attentionLayout({ nRows, width, height, cell, dpr, type, narrow }) {
  const { rail, railX, band, legendBottom } = margins(width, type, narrow, LEGEND_ENTRIES)
  const left = Math.round(type * 5.6)
  const top = Math.round(type * 4.6)
  const right = rail ? 6 : Math.round(type * 2)
  const across = (width - left - right - rail) / nRows
  const down = (height - top - band - 6) / nRows
  const fitted = Math.max(1, Math.floor(Math.min(across, down) * dpr)) / dpr
  const size = cell ?? Math.min(MAX_CELL, Math.max(MIN_CELL, fitted))
  const slant = Math.sin((-COLUMN_ANGLE * Math.PI) / 180)
  return {
    nRows, type, left, top, rail, railX, band, legendBottom, fitted, cell: size,
    gap: size >= 20 ? 2 : size >= 7 ? 1 : 0,
    radius: size >= 20 ? 2.5 : size >= 12 ? 1.5 : 0,
    rowEvery: Math.max(1, Math.ceil((type * 1.08) / size)),
    columnEvery: Math.max(1, Math.ceil((type * 0.92) / (size * slant))),
    contentWidth: left + nRows * size + right,
    contentHeight: top + nRows * size + 6,
  }
}

/** @typedef {ReturnType<typeof attentionLayout>} AttentionLayout */

/**
 * How much of a cell of the newest row is seen, and how strong, at `ms` of its step.
 * The row draws from left to right as scaled scores; softmax then settles them into weights.
 * @param {number} weight @param {number} scoreShare scaled score within its row, in [0, 1]
 * @param {number} column @param {number} nColumns @param {number} ms @param {string} scale
 * @returns {{ width: number, strength: number }} both in [0, 1]
 */
export function newCellAt(weight, scoreShare, column, nColumns, ms, scale) {
  const { draw, settle } = phasesAt(ms)
  const width = Math.min(1, Math.max(0, draw * nColumns - column))
  const before = 0.12 + 0.5 * scoreShare
  return { width, strength: before + (strength(weight, scale) - before) * settle }
}

/** Smallest and largest of a stretch. @param {Float32Array} values @param {number} start @param {number} length */
export function rangeOf(values, start, length) {
  let [low, high] = [Infinity, -Infinity]
  for (let i = start; i < start + length; i++) {
    if (values[i] < low) low = values[i]
    if (values[i] > high) high = values[i]
  }
  return { low, high }
}
