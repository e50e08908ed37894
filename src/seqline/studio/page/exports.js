// Files of what is seen now, made by the server with the same scenes: animations, a page, the recording itself.
class LiveExports {
  constructor(panel) {
    this.panel = panel;
    this.list = document.querySelector("#export-menu ul");
    // The page alone can only show a command for animations; here the button makes the file.
    document.getElementById("export-menu").addEventListener("click", (event) => {
      const format = event.target.closest("[data-live-export]")?.dataset.liveExport;
      if (!format) return;
      event.stopPropagation();
      this.make(format);
    }, true);
  }

  fill() {
    if (!this.list || !this.panel.traceId) return;
    this.list.querySelector('[data-export="gif"]')?.parentElement.remove();
    const words = [["gif", this.panel.say("exportFile", { format: "GIF" })], ["mp4", this.panel.say("exportFile", { format: "MP4" })], ["html", this.panel.say("exportPage")], ["trace", this.panel.say("exportTrace")]];
    for (const [format, text] of words) {
      let button = this.list.querySelector(`[data-live-export="${format}"]`);
      if (!button) {
        button = liveMake("button", { type: "button", "data-live-export": format });
        this.list.append(liveMake("li", {}, [button]));
      }
      if (button.textContent !== text) button.textContent = text;
      if (format === "gif" || format === "mp4") button.parentElement.hidden = this.panel.studio.figure.n < 2;
    }
  }

  async make(format) {
    const { panel } = this;
    const { figure, shared, trace } = panel.studio;
    const said = document.getElementById("said");
    const name = format === "trace" ? "run.json" : `${figure.view}.${format}`;
    said.textContent = panel.say("exporting", { name });
    const member = trace.schema === "bundle/1" && figure.drawn() !== trace && format !== "trace" && format !== "html" ? shared.m : null;
    const { font, frame, ...state } = figure.state;
    try {
      const answer = await panel.post("/api/export", { trace_id: panel.traceId, view: figure.view, state, format, member });
      const link = liveMake("a", { href: URL.createObjectURL(await answer.blob()), download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      said.textContent = name;
    } catch (error) {
      said.textContent = error.message;
    }
  }
}
