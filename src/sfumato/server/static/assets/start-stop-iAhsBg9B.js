import{A as i,d as f}from"./index-CMMe71eo.js";function $({label:e,isRunning:t,canStart:l,start:c,stop:a,title:s}){return f`<button
    class=${t?"":"primary"}
    type=${c===void 0?"submit":"button"}
    title=${s??i}
    ?disabled=${!t&&!l}
    @click=${o=>{const r=o.detail>1,d=o.detail===0&&!o.currentTarget.matches(":focus");(r||t)&&o.preventDefault(),!(r||t&&d)&&(t?a():c?.())}}
  >
    ${t?"Stop":e}
  </button>`}export{$ as s};
