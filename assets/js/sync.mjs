// @ts-check
/**
 * A value that both the viewer and the server may set. The viewer's choice shows at once; the
 * server's echo of an older choice must not undo it, yet a real change by the server must win.
 */

/** @param {any} a @param {any} b */
export const sameJson = (a, b) => JSON.stringify(a) === JSON.stringify(b)
/** An echo later than this is a new wish of the server. */
const ECHO_MS = 5_000

/** @template T */
export class Synced {
  /** @param {T} value */
  constructor(value) {
    this.value = value
    /** @type {T|undefined} */
    this.received = undefined
    /** @type {{ value: T, at: number }[]} */
    this.sent = []
  }

  /** The viewer chose; returns whether anything changed. @param {T} value */
  choose(value) {
    if (sameJson(value, this.value)) return false
    this.value = value
    this.sent.push({ value, at: Date.now() })
    return true
  }

  /** The server says; returns whether the shown value changed. @param {T|undefined|null} value */
  receive(value) {
    if (value === undefined || value === null || sameJson(value, this.received)) return false
    this.received = value
    this.sent = this.sent.filter(({ at }) => Date.now() - at < ECHO_MS)
    const echo = this.sent.findIndex((mine) => sameJson(mine.value, value))
    if (echo >= 0) {
      this.sent.splice(0, echo + 1)
      return false
    }
    this.sent = []
    const changed = !sameJson(value, this.value)
    this.value = value
    return changed
  }
}
