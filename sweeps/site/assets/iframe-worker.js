// Browsers start no worker from a file: the search then runs in a hidden frame, with the messages of a worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.documentElement.append(frame);
      const inside = frame.contentWindow, waiting = [];
      this.postMessage = (data) => waiting.push(data);
      inside.postMessage = (data) => this.reply(data);
      inside.importScripts = (...urls) => Promise.all(urls.map((one) => this.load(inside, one)));
      this.load(inside, url).then(() => {
        this.postMessage = (data) => inside.dispatchEvent(new MessageEvent("message", { data }));
        waiting.forEach(this.postMessage);
      });
      this.terminate = () => frame.remove();
    }
    reply(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    load(inside, url) {
      return new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        Object.assign(script, { src: new URL(url, location.href).href, onload: done, onerror: failed });
        inside.document.head.append(script);
      });
    }
  };
}
