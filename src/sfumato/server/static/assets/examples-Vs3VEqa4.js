import{e as m,i as u,o as c,g as f,A as b,d as p,C as d}from"./index-CMMe71eo.js";var v=Object.defineProperty,h=Object.getOwnPropertyDescriptor,i=(e,s,n,r)=>{for(var t=r>1?void 0:r?h(s,n):s,l=e.length-1,o;l>=0;l--)(o=e[l])&&(t=(r?o(s,n,t):o(t))||t);return r&&t&&v(s,n,t),t};function x({name:e}){return e.replaceAll("_"," ")}let a=class extends f{constructor(){super(...arguments),this.kinds=[]}render(){return this.kinds.length===0?b:p`<div class="row" role="group" aria-label="Examples that it knows">
      <span class="muted">It knows, for example:</span>
      ${this.kinds.map(e=>p`<button
            type="button"
            title=${e.example}
            @click=${()=>this.dispatchEvent(new CustomEvent("sf-example",{detail:e.example,bubbles:!0,composed:!0}))}
          >
            ${x(e)}
          </button>`)}
    </div>`}};a.styles=[m,u`
      .row {
        gap: 0.3rem;
        font-size: 0.875rem;
      }
      button {
        font-size: inherit;
        padding: 0.15rem 0.6rem;
      }
    `];i([c({attribute:!1})],a.prototype,"kinds",2);a=i([d("sf-examples")],a);export{x as k};
