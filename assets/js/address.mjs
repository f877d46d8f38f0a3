// @ts-check
/**
 * Keeps the address of the page equal to its state, so that it can be copied at any moment, and
 * gives the state back to a server that has lost it: the same document then meets a new session.
 */

/**
 * The search part with our names replaced and everybody else's kept.
 * @param {string} search present search part, such as "?embed=true&step=2"
 * @param {Record<string, string>} wanted what the state needs
 * @param {string[]} names every name that is ours
 */
export function merged(search, wanted, names) {
  const query = new URLSearchParams(search)
  for (const name of names) query.delete(name)
  for (const [name, value] of Object.entries(wanted)) query.set(name, value)
  const text = query.toString()
  return text ? `?${text}` : ""
}

/**
 * What the address has to do now.
 * @param {string|undefined} known the session that this document has been talking to
 * @param {{ session: string, restored: boolean }} data
 * @returns {"follow"|"restore"|"wait"} wait: the new session has not taken the address over yet
 */
export function addressDuty(known, { session, restored }) {
  if (restored || known === undefined || known === session) return "follow"
  return known === `asked ${session}` ? "wait" : "restore"
}

/**
 * Replaces, never adds: Back leaves the page instead of undoing settings one by one.
 * @param {{ data: any, setStateValue: (name: string, value: any) => void }} component
 */
export function mountAddress({ data, setStateValue }) {
  const scope = /** @type {any} */ (globalThis)
  const duty = addressDuty(scope.__oneNewRowSession, data)
  if (duty === "wait") return
  if (duty === "restore") {
    scope.__oneNewRowSession = `asked ${data.session}`
    setStateValue("restore", Object.fromEntries(new URLSearchParams(location.search)))
    return
  }
  scope.__oneNewRowSession = data.session
  const search = merged(location.search, data.wanted, data.names)
  if (search !== location.search) {
    history.replaceState(history.state, "", location.pathname + search + location.hash)
  }
}
