// @ts-check
/** What is swept: matrix, layer, token, precision and rows, above the picture. */
import { el, segmented, setAttr, setText } from "./dom.mjs"
import { typedRows } from "./sweepdata.mjs"

/** @typedef {{ matrix: string, layer: number, position: number, dtype: string, group: string, rows: number }} SweepChoice */

export class SweepControls {
  /**
   * @param {HTMLElement} host
   * @param {(change: Partial<SweepChoice>) => void} onChange what the viewer chose
   */
  constructor(host, onChange) {
    this.onChange = onChange
    this.mostRows = 1
    this.rule = ""
    this.matrix = this.select("Matrix", (value) => onChange({ matrix: value }))
    this.layer = this.select("Layer", (value) => onChange({ layer: Number(value) }))
    this.token = this.select("Token whose row enters", (value) => onChange({ position: Number(value) }))
    this.dtype = this.select("Precision of the weights", (value) => onChange({ dtype: value }))
    this.group = this.input("Group size of int4: weights that share a scale", "onr-group", (text) => onChange({ group: text }))
    this.groupLabel = el("label", { class: "onr-field" }, "g", this.group)
    this.presets = el("span", { class: "onr-presets" })
    this.rows = this.input("Number of rows, R", "onr-rows", (text) => this.takeRows(text))
    this.problem = el("p", { class: "onr-problem", role: "alert", hidden: true })
    this.matrix.classList.add("onr-matrix-pick")
    this.token.classList.add("onr-token-pick")
    host.append(this.matrix, this.layer, this.dtype, this.groupLabel, this.presets,
      el("label", { class: "onr-field" }, "R", this.rows), this.token, this.problem)
  }

  /** @param {string} label @param {(value: string) => void} onPick @returns {HTMLSelectElement} */
  select(label, onPick) {
    const node = /** @type {HTMLSelectElement} */ (el("select", { "aria-label": label, title: label }))
    let byPointer = false
    node.addEventListener("pointerdown", () => (byPointer = true))
    node.addEventListener("change", () => {
      onPick(node.value)
      // A select that keeps the focus would take the arrow keys from the presenter.
      if (byPointer) node.blur()
      byPointer = false
    })
    return node
  }

  /** @param {string} label @param {string} name @param {(text: string) => void} onEnter @returns {HTMLInputElement} */
  input(label, name, onEnter) {
    const node = /** @type {HTMLInputElement} */ (
      el("input", { class: name, type: "text", inputmode: "numeric", autocomplete: "off", "aria-label": label, title: label })
    )
    node.addEventListener("change", () => onEnter(node.value))
    node.addEventListener("keydown", (event) => event.key === "Enter" && node.blur())
    return node
  }

  /** A typed number of rows, or the rule that it breaks; the last picture stays. @param {string} text */
  takeRows(text) {
    const rows = typedRows(text, this.mostRows)
    this.say(rows === null ? this.rule : "")
    setAttr(this.rows, "aria-invalid", rows === null ? "true" : null)
    if (rows !== null) this.onChange({ rows })
  }

  /** @param {string} text */
  say(text) {
    setText(this.problem, text)
    this.problem.hidden = text === ""
  }

  /** The choices there are; drawn again only when they change.
   * @param {{ matrices: [string, string][], layers: [number, string][], tokens: [number, string][], dtypes: [string, string][] }} choices
   * @param {any} payload */
  offer(choices, payload) {
    this.mostRows = payload.max_rows
    this.rule = payload.words.rows_rule
    this.fill(this.matrix, choices.matrices)
    this.fill(this.layer, choices.layers)
    this.fill(this.token, choices.tokens)
    this.fill(this.dtype, choices.dtypes)
    const key = JSON.stringify(payload.presets)
    if (this.presets.dataset.key === key) return
    this.presets.dataset.key = key
    const options = payload.presets.map(([name, rows]) => [String(rows), `${name} ${rows}`])
    this.seg = segmented("Rows", options, (value) => this.takeRows(value))
    for (const [i, button] of [...this.seg.host.children].entries()) setAttr(button, "title", payload.presets[i][2])
    this.presets.replaceChildren(this.seg.host)
  }

  /** @param {HTMLSelectElement} node @param {[any, string][]} options */
  fill(node, options) {
    const key = JSON.stringify(options)
    if (node.dataset.key === key) return
    node.dataset.key = key
    node.replaceChildren(...options.map(([value, text]) => el("option", { value: String(value) }, text)))
  }

  /** @param {SweepChoice} choice */
  show(choice) {
    this.matrix.value = choice.matrix
    this.layer.value = String(choice.layer)
    this.layer.hidden = choice.matrix === "lm_head"
    this.token.value = String(choice.position)
    this.dtype.value = choice.dtype
    this.groupLabel.hidden = choice.dtype !== "int4"
    const focused = /** @type {any} */ (this.rows.getRootNode()).activeElement
    if (focused !== this.group) this.group.value = String(choice.group)
    if (this.problem.hidden && focused !== this.rows) this.rows.value = String(choice.rows)
    this.seg?.show(String(choice.rows))
  }
}
