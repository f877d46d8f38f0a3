// @ts-check
/** What the stage of one new row says, apart from the sentences that come with the run. */
import { namesOf } from "./heads.mjs"

/** @typedef {{ layer: number, head: number, scale: string, view: string, mask: boolean }} View */

/** Rows asked for at a time. */
const ROWS_AHEAD = 16

/** Rows to ask for, or 0 where the run cannot grow. @param {any} payload @param {number} [rowsAhead] */
export function wantedRows(payload, rowsAhead = ROWS_AHEAD) {
  if (payload.stop.reason !== "steps" || payload.stop.more === false) return 0
  const most = payload.model.max_seq_len ?? Infinity
  return payload.n_rows < most ? Math.min(most, payload.n_rows + rowsAhead) : 0
}

/** @param {Record<string, string>} [given] @returns {Record<string, string>} */
export const stageLabels = (given) =>
  ({ next: "Process next token ▶", run: "As it is", compare: "One head switched off", ...given })

/** @param {import("./run.mjs").Run} run @param {number} step */
export function stepText(run, step) {
  const row = run.newestRow(step)
  return row < 0 ? "Prefill" : `Step ${step} of ${run.lastStep}: ${run.label(row)}`
}

/** @param {import("./run.mjs").Run} run @param {View} view */
export function pictureTitle(run, { layer, head, view }) {
  const name = namesOf(run.payload.heads ?? [], layer, head)
  return `${view === "cache" ? "K, V cache" : "Attention"}, layer ${layer}, head ${head}${name ? ` (${name})` : ""}`
}

/** What a screen reader says of the picture. @param {View} view */
export function describeView({ layer, head, view }) {
  const what = view === "cache" ? "Key and value cache" : "Attention weights"
  const how = view === "cache"
    ? "One row a token, the new one outlined."
    : "Rows are queries, columns are keys; slate rows were computed before, the blue one is new, outlines are the future."
  return `${what} of layer ${layer}, head ${head}. ${how} Arrow keys move through the cells, Escape leaves.`
}

/** Sentences below the caption. @param {import("./run.mjs").Run} run @param {View} view @param {boolean} offline @returns {string[]} */
export function stageSentences(run, view, offline) {
  const { recorded, mask_check: check, notes } = run.payload
  const sentences = []
  if (recorded) sentences.push(offline ? "Recorded run." : "Recorded run, until the live model has loaded.")
  if (view.view === "cache") {
    sentences.push("The cache holds K and V, not these rows, and no Q: a query is used in its own step only.", sharedBy(run, view.head))
  } else if (view.mask) {
    sentences.push("Prefill sets the hatched cells to −∞ before softmax. Decode needs no mask: nothing later is in the cache.", check?.sentence ?? "")
  }
  return [...sentences, ...(notes ?? [])]
}

/** @param {import("./run.mjs").Run} run @param {number} head */
function sharedBy(run, head) {
  const size = run.groupSize
  if (size <= 1) return ""
  const kvHead = Math.floor(head / size)
  const first = kvHead * size
  return `Heads ${first}${size > 2 ? " to " : " and "}${first + size - 1} read the same K/V head ${kvHead}.`
}
