// @ts-check
/**
 * The bar that every stepping page shares: back, the main button, play, scrubber, restart, speed,
 * and the same by keyboard. It owns the clock; the page owns the picture and paints what it is told.
 */
import { SPEEDS, advanced, clampStep, paintedMs } from "./clock.mjs"
import { el, setAttr, setText } from "./dom.mjs"
import { pageAction } from "./keys.mjs"

/**
 * @typedef {{
 *   label: string,
 *   stepMs: number,
 *   signal: AbortSignal,
 *   paint: (step: number, ms: number) => void,
 *   caption: (step: number) => string,
 *   valueText: (step: number) => string,
 *   onStep: (step: number) => void,
 *   wantMore: () => boolean,
 *   endSentence: () => string,
 * }} TransportOptions
 * `onStep` runs when the viewer stops at a step, not for every step that plays by. `wantMore` asks
 * for steps beyond the last and says whether they will come; `endSentence` says why they do not.
 */

const COMMIT_MS = 250

export class Transport {
  /** @param {HTMLElement} host @param {TransportOptions} options */
  constructor(host, options) {
    this.options = options
    this.step = 0
    this.ms = options.stepMs
    this.lastStep = 0
    this.playing = false
    this.speed = 1
    /** Presses of "next" beyond the last step, kept until the steps arrive. */
    this.owed = 0
    this.touched = false
    this.endNote = ""
    /** @type {string[]} */
    this.sentences = []
    this.raf = 0
    this.then = 0
    /** @type {any} */
    this.commitTimer = 0
    this.reduced = matchMedia("(prefers-reduced-motion: reduce)")
    this.build(host)
    this.listen()
  }

  /** @param {HTMLElement} host */
  build(host) {
    const button = (/** @type {string} */ name, /** @type {string} */ text, /** @type {string} */ title) =>
      el("button", { type: "button", class: `onr-${name}`, "data-act": name, title }, text)
    this.backButton = button("back", "◀ Back", "Back one step (left arrow, Page Up)")
    this.nextButton = button("next", this.options.label, "Forward one step (right arrow, Page Down)")
    this.playButton = button("play", "Play", "Play or pause (space)")
    this.restartButton = button("restart", "⟲", "Back to the first step (Home)")
    setAttr(this.restartButton, "aria-label", "Restart")
    setAttr(this.playButton, "aria-pressed", "false")
    this.scrub = /** @type {HTMLInputElement} */ (
      el("input", { type: "range", class: "onr-scrub", min: "0", max: "0", step: "1", value: "0", "aria-label": "Step", "data-onr-scrub": "" })
    )
    this.counter = el("output", { class: "onr-counter" })
    const choices = SPEEDS.map((speed) => el("option", { value: speed, selected: speed === 1 }, `${speed}×`))
    this.speedSelect = /** @type {HTMLSelectElement} */ (
      el("select", { class: "onr-speed", "aria-label": "Speed", title: "Speed" }, ...choices)
    )
    this.extras = el("div", { class: "onr-extras" })
    this.bar = el("div", { class: "onr-bar", role: "group", "aria-label": "Steps" },
      this.backButton, this.nextButton, this.playButton,
      el("div", { class: "onr-track" }, this.scrub, this.counter),
      this.restartButton, this.speedSelect, this.extras)
    this.captionLine = el("p", { class: "onr-caption", "aria-hidden": "true" })
    this.note = el("p", { class: "onr-note" })
    this.live = el("p", { class: "onr-sr", role: "status", "aria-live": "polite", "data-onr": "caption" })
    host.append(this.bar, this.captionLine, this.note, this.live)
  }

  listen() {
    const { signal } = this.options
    const on = (/** @type {EventTarget} */ target, /** @type {string} */ type, /** @type {any} */ act) =>
      target.addEventListener(type, act, { signal })
    on(this.backButton, "click", () => this.act("back"))
    on(this.nextButton, "click", () => this.act("next"))
    on(this.playButton, "click", () => this.act("play"))
    on(this.restartButton, "click", () => this.restart())
    on(this.scrub, "input", () => this.go(Number(this.scrub.value), false))
    let byPointer = false
    on(this.speedSelect, "pointerdown", () => (byPointer = true))
    on(this.speedSelect, "change", () => {
      this.speed = Number(this.speedSelect.value)
      // A select that keeps the focus would take the arrow keys from the presenter.
      if (byPointer) this.speedSelect.blur()
      byPointer = false
    })
    on(document, "keydown", (/** @type {KeyboardEvent} */ event) => {
      const action = pageAction(event, document)
      if (!action || (action === "play" && event.repeat)) return
      event.preventDefault()
      this.act(action)
    })
    on(document, "visibilitychange", () => document.hidden && this.pause())
    signal.addEventListener("abort", () => this.dispose())
  }

  /** @param {string} action */
  act(action) {
    if (action === "next") this.next()
    else if (action === "back") this.go(this.step - 1, false)
    else if (action === "first") this.go(0, false)
    else if (action === "last") this.go(this.lastStep, false)
    else if (action === "play") this.playing ? this.pause() : this.play()
  }

  next() {
    this.halt()
    this.touched = true
    if (this.step < this.lastStep) return this.go(this.step + 1, true)
    if (this.options.wantMore()) this.owed += 1
    this.show()
    this.say()
  }

  /** Stop at a step; `tween` lets its motion play from the start. @param {number} step @param {boolean} tween */
  go(step, tween) {
    this.halt()
    this.touched = true
    this.owed = 0
    this.place(step, tween)
    this.say()
    this.commit()
    if (this.lastStep - this.step < 4) this.options.wantMore()
  }

  /** @param {number} step @param {boolean} tween */
  place(step, tween) {
    this.step = clampStep(step, this.lastStep)
    this.ms = tween && !this.reduced.matches ? 0 : this.options.stepMs
    this.show()
    this.schedule()
  }

  restart() {
    this.go(0, true)
  }

  play() {
    this.touched = true
    if (this.step >= this.lastStep && !this.options.wantMore()) this.place(0, false)
    this.playing = true
    this.show()
    this.schedule()
  }

  /** Stop playing without a word. */
  halt() {
    this.playing = false
  }

  pause() {
    if (!this.playing) return
    this.halt()
    this.show()
    this.say()
    this.commit()
  }

  /**
   * The number of steps changed: a longer run pays the presses it owes, a new one starts at `step`.
   * @param {number} lastStep @param {number|null} step null keeps the present one
   */
  setSteps(lastStep, step = null) {
    const longer = lastStep > this.lastStep
    this.lastStep = lastStep
    if (step !== null) {
      this.halt()
      this.owed = 0
      this.place(step, false)
    } else if (this.owed > 0 && longer) {
      const owed = this.owed
      this.owed = 0
      this.place(this.step + owed, true)
      this.say()
      this.commit()
    } else {
      this.step = clampStep(this.step, lastStep)
      this.show()
      this.schedule()
    }
    this.say()
  }

  /** Ask for one frame; many asks before it are one frame, and no step is lost in it. */
  schedule() {
    if (this.raf) return
    this.then = 0
    this.raf = requestAnimationFrame((now) => this.tick(now))
  }

  /** @param {number} now */
  tick(now) {
    this.raf = 0
    const elapsed = this.then ? now - this.then : 0
    const { stepMs } = this.options
    const before = this.step
    const pace = { elapsed, speed: this.speed, playing: this.playing, lastStep: this.lastStep, stepMs }
    const after = advanced(this, pace)
    ;[this.step, this.ms] = [after.step, after.ms]
    if (this.step !== before) {
      this.show()
      if (this.lastStep - this.step < 4) this.options.wantMore()
    }
    this.options.paint(this.step, paintedMs(this, this.reduced.matches, stepMs))
    if (after.ended && !this.options.wantMore()) return this.pause()
    if (!after.moving && !this.playing) return
    this.then = now
    this.raf = requestAnimationFrame((time) => this.tick(time))
  }

  /** Everything in the bar that depends on the step. */
  show() {
    const { label, caption, valueText, endSentence } = this.options
    const [atEnd, waiting] = [this.step >= this.lastStep, this.owed > 0]
    const stuck = atEnd && !waiting && endSentence() !== ""
    setText(this.nextButton, waiting ? "The model is working…" : label)
    this.nextButton.toggleAttribute("disabled", stuck)
    setAttr(this.nextButton, "aria-busy", String(waiting))
    this.backButton.toggleAttribute("disabled", this.step === 0)
    setText(this.playButton, this.playing ? "Pause" : "Play")
    setAttr(this.playButton, "aria-pressed", String(this.playing))
    this.scrub.max = String(this.lastStep)
    this.scrub.value = String(this.step)
    this.scrub.style.setProperty("--share", String(this.lastStep ? this.step / this.lastStep : 0))
    setAttr(this.scrub, "aria-valuetext", valueText(this.step))
    setText(this.counter, `${this.step} / ${this.lastStep}`)
    setText(this.captionLine, caption(this.step))
    this.endNote = stuck ? endSentence() : ""
    this.showNote()
  }

  /** Sentences below the caption: why the run ends here, then what the page adds. @param {string[]} [sentences] */
  showNote(sentences = this.sentences) {
    this.sentences = sentences
    setText(this.note, [this.endNote, ...sentences].filter(Boolean).join(" "))
  }

  /** Words for the screen reader: on manual steps and pauses, never while it plays. */
  say() {
    if (!this.playing) setText(this.live, [this.options.caption(this.step), this.endNote].filter(Boolean).join(" "))
  }

  commit() {
    clearTimeout(this.commitTimer)
    this.commitTimer = setTimeout(() => this.options.onStep(this.step), COMMIT_MS)
  }

  dispose() {
    this.halt()
    cancelAnimationFrame(this.raf)
    clearTimeout(this.commitTimer)
  }
}
