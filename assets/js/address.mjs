// @ts-check
/** Keeps the address of the page equal to its state, so that it can be copied at any moment. */

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
 * Replaces, never adds: Back leaves the page instead of undoing settings one by one.
 * @param {{data: {wanted: Record<string, string>, names: string[]}}} component
 */
export function mountAddress({ data }) {
  const search = merged(location.search, data.wanted, data.names)
  if (search !== location.search) {
    history.replaceState(history.state, "", location.pathname + search + location.hash)
  }
}
