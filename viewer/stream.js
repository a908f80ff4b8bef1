// Events of a controller: text/event-stream over `fetch`, because a browser's own reader of
// events cannot send a token. A stream that ends or is idle is requested again; each stream starts
// with a snapshot.

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 5000;
/** A controller sends events twice a second. */
const SILENCE = 3000;

export class Stream {
  /**
   * `heard(kind, data)` receives events. `state(now, why)` receives the connection's state:
   * `connected`, `gone` (it reconnects; `why` is the reason) or `refused` (the token is wrong; the
   * stream has ended).
   */
  constructor(address, token, heard, state) {
    Object.assign(this, { address, token, heard, state, last: null });
    this.run();
  }

  async run() {
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      let why = "its connection has ended";
      try {
        if (await this.listen(() => (pause = FIRST_PAUSE))) return;
      } catch (error) {
        // Browsers word failed connections differently, but all raise a TypeError.
        why = error.name === "AbortError" ? "nothing has come for 3 s" : error instanceof TypeError ? "it cannot be reached" : error.message;
      }
      this.state("gone", why);
      await new Promise((done) => setTimeout(done, pause));
    }
  }

  /** Read until the stream ends; true if a retry is pointless. */
  async listen(begun) {
    const abort = new AbortController();
    let watchdog = setTimeout(() => abort.abort(), SILENCE);
    try {
      const headers = { Authorization: `Bearer ${this.token}` };
      const response = await fetch(this.address, { headers, cache: "no-store", signal: abort.signal });
      if (response.status === 401) {
        this.state("refused", null);
        return true;
      }
      if (!response.ok) throw new Error((await response.text()).trim() || `it answers ${response.status}`);
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return false;
        clearTimeout(watchdog);
        watchdog = setTimeout(() => abort.abort(), SILENCE);
        text += decoder.decode(value, { stream: true });
        const events = text.split("\n\n");
        text = events.pop();
        for (const event of events) {
          const fields = new Map(event.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
          if (!fields.has("data")) continue;
          this.last = Date.now();
          this.heard(fields.get("event"), JSON.parse(fields.get("data")));
          begun();
          this.state("connected", null);
        }
      }
    } finally {
      clearTimeout(watchdog);
      abort.abort();
    }
  }
}
