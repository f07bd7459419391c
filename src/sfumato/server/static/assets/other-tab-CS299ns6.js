import{d as a}from"./index-CMMe71eo.js";function d(o,r){return a`<div class="card row" role="alert">
    <span>${o}</span>
    ${r.map(({label:t,run:s,disabled:e=!1})=>a`<button ?disabled=${e} @click=${s}>${t}</button>`)}
  </div>`}export{d as o};
