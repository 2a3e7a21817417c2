// Draws every figure of the report from the data that stands beside it. Asks nobody for anything.
(() => {
  const config = { displayModeBar: false, responsive: true, showSendToCloud: false, plotlyServerURL: "" };
  let drawn = 0;
  for (const place of document.querySelectorAll(".chart")) {
    try {
      const figure = JSON.parse(place.querySelector("script").textContent);
      const stage = place.querySelector(".stage");
      Plotly.newPlot(stage, figure.data, figure.layout, config);
      place.dataset.drawn = "yes";
      drawn += 1;
    } catch (error) {
      place.classList.add("failed"); // the words below it are shown instead
      console.error(error);
    }
  }
  document.documentElement.dataset.figuresDrawn = String(drawn);
})();
