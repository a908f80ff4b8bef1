// Events of a controller: text/event-stream over `fetch`, as the browser's own reader of such streams cannot show a token. A stream that ends, or on
// which nothing comes, is asked for again; each begins with all there is.

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 5000;
/** A controller says something twice a second. */
const SILENCE = 3000;

export class Stream {
  /**
   * `heard(kind, data)` gets events. `state(now, why)` hears how it goes: `connected`, `gone` (it tries again, and `why` says what happened),
   * `refused` (the token is wrong: it has ended).
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
        // What browsers say of a connection that cannot be had is different in each, and a TypeError in all.
        why = error.name === "AbortError" ? "nothing has come for 3 s" : error instanceof TypeError ? "it cannot be reached" : error.message;
      }
      this.state("gone", why);
      await new Promise((done) => setTimeout(done, pause));
    }
  }

  /** Until the stream ends; true where it is not worth another try. */
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
