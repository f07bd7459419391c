import{a as Ke}from"./answer-UQjbIVjM.js";import{t as We}from"./canvas-BqwZnn-S.js";import{a as Be,o as Ge}from"./take-Cb18_Fsc.js";import{d as u,y as T,i as ke,e as Fe,n as ne,g as Xe,A as q,w as Je}from"./index-B3E5B1W5.js";import{l as B}from"./live-DZVJQnX6.js";import{c as G}from"./repeat-CMpXvs-E.js";const Qe={id:{type:"string",pattern:"^[a-z]{1,2}$",description:"Of a slot: unique within a page."},label:{type:"string",pattern:"^[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029|](?: ?[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029|]){0,31}$"},cell:{type:"string",pattern:"^[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029|](?: ?[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029|]){0,15}$"},color:{enum:["red","orange","yellow","green","blue","purple","pink","grey","black","white"]},block:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/table"},{$ref:"#/$defs/column"},{$ref:"#/$defs/row"},{$ref:"#/$defs/card"},{$ref:"#/$defs/image"},{$ref:"#/$defs/tabs"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"}]},leaf:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"}]},page:{description:"A whole screen.",type:"object",properties:{component:{const:"page"},id:{$ref:"#/$defs/id"},theme:{enum:["dark","sepia","contrast"]},text:{$ref:"#/$defs/label"},children:{type:"array",items:{$ref:"#/$defs/block"}}},required:["component","id"],additionalProperties:!1},header:{description:"A title.",type:"object",properties:{component:{const:"header"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},align:{enum:["center","right"]},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},text:{description:"A line of text.",type:"object",properties:{component:{const:"text"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},align:{enum:["center","right"]},bold:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},button:{description:"A button.",type:"object",properties:{component:{const:"button"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},list:{description:"Items or checkboxes, one below the other.",type:"object",properties:{component:{const:"list"},id:{$ref:"#/$defs/id"},numbered:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/item"},{$ref:"#/$defs/checkbox"}]}}},required:["component","id"],additionalProperties:!1},item:{description:"An entry of a list.",type:"object",properties:{component:{const:"item"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},checkbox:{description:"Something that is done or not, in a list or alone.",type:"object",properties:{component:{const:"checkbox"},id:{$ref:"#/$defs/id"},on:{const:!0},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},input:{description:"A field to type in.",type:"object",properties:{component:{const:"input"},id:{$ref:"#/$defs/id"},type:{enum:["email","number","date","time","password","search"]},required:{const:!0},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},table:{description:"Records under the names of their columns.",type:"object",properties:{component:{const:"table"},id:{$ref:"#/$defs/id"},hidden:{const:!0},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:1,maxItems:5},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/record"}]}}},required:["component","id","cells"],additionalProperties:!1},record:{description:"A row of a table: a cell for each column.",type:"object",properties:{component:{const:"record"},id:{$ref:"#/$defs/id"},marked:{const:!0},hidden:{const:!0},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:1,maxItems:5}},required:["component","id","cells"],additionalProperties:!1},column:{description:"Components, one below the other.",type:"object",properties:{component:{const:"column"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{$ref:"#/$defs/leaf"}}},required:["component","id"],additionalProperties:!1},row:{description:"Components, side by side.",type:"object",properties:{component:{const:"row"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"},{$ref:"#/$defs/column"},{$ref:"#/$defs/card"}]}}},required:["component","id"],additionalProperties:!1},card:{description:"A framed group.",type:"object",properties:{component:{const:"card"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{$ref:"#/$defs/leaf"}}},required:["component","id"],additionalProperties:!1},image:{description:"The place of an image that the text describes.",type:"object",properties:{component:{const:"image"},id:{$ref:"#/$defs/id"},size:{enum:["small","large"]},align:{enum:["center","right"]},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},tabs:{description:"Tabs, one of which is shown.",type:"object",properties:{component:{const:"tabs"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/tab"}]}}},required:["component","id"],additionalProperties:!1},tab:{description:"What one tab shows.",type:"object",properties:{component:{const:"tab"},id:{$ref:"#/$defs/id"},on:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"},{$ref:"#/$defs/table"}]}}},required:["component","id","text"],additionalProperties:!1},chart:{description:"A diagram; each cell is a label and its number.",type:"object",properties:{component:{const:"chart"},id:{$ref:"#/$defs/id"},type:{enum:["line","pie"]},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:0,maxItems:5}},required:["component","id","text"],additionalProperties:!1},progress:{description:"A bar that is filled by a percentage.",type:"object",properties:{component:{const:"progress"},id:{$ref:"#/$defs/id"},value:{type:"integer",minimum:0,maximum:100},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},badge:{description:"A short label.",type:"object",properties:{component:{const:"badge"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},select:{description:"A choice between the cells.",type:"object",properties:{component:{const:"select"},id:{$ref:"#/$defs/id"},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:0,maxItems:5}},required:["component","id","text"],additionalProperties:!1},slider:{description:"A value between 0 and 100.",type:"object",properties:{component:{const:"slider"},id:{$ref:"#/$defs/id"},value:{type:"integer",minimum:0,maximum:100},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},divider:{description:"A line between what is above and what is below.",type:"object",properties:{component:{const:"divider"},id:{$ref:"#/$defs/id"},hidden:{const:!0}},required:["component","id"],additionalProperties:!1}},Ve={$defs:Qe},ee=4,V=Array.from("abcdefghijklmnopqrstuvwxyz"),z=[...V,...V.flatMap(e=>V.map(t=>e+t))],je=new Map(z.map((e,t)=>[e,t])),Ye=/^( *)(?:([a-z]{1,2}) )?([a-z]{3,})((?: [a-z0-9]+)*)(?:: ([^\n]+))?$/u,Ze=/^(?:0|[1-9]\d*)$/;class f extends Error{constructor(){super(...arguments),this.name="PageError"}}const oe=Ve.$defs,Ae=e=>e.$ref?.split("/").at(-1)??"";function te(e){return e.$ref===void 0?e:te(oe[Ae(e)]??{})}function et(e,t){const r=new Map;let o=[0,0];const n=t.properties??{};for(const[d,l]of Object.entries(n)){const a=te(l);if(a.type==="integer")r.set("#",d),o=[a.minimum??0,a.maximum??0];else if(d!=="component"&&(a.enum!==void 0||a.const!==void 0))for(const c of a.enum??[d])r.set(c,d)}const s=n.cells??{},i=te(n.children?.items??{}).oneOf??[];return{name:e,words:r,properties:[...new Set(r.values())],range:o,hasText:"text"in n,needsText:t.required?.includes("text")??!1,cells:[s.minItems??0,s.maxItems??0],children:new Set(i.map(Ae))}}const F=new Map(Object.entries(oe).filter(([,e])=>e.properties!==void 0&&"component"in e.properties).map(([e,t])=>[e,et(e,t)])),$e=e=>new RegExp(oe[e]?.pattern??"","u"),me={label:$e("label"),cell:$e("cell")};function I(e){const t=F.get(e.kind);if(t===void 0)throw new f(Oe("component",e.kind,F.keys()));return t}function g(e){const t=e.replaceAll("\\","\\\\").replaceAll(`
`,"\\n");return t.includes("'")&&!t.includes('"')?`"${t}"`:`'${t.replaceAll("'","\\'")}'`}function Oe(e,t,r){return`unknown ${e} ${g(t)}; allowed: ${[...r].sort().join(", ")}`}function H(e,t){if(!Ze.test(t))return t==="#"?void 0:e.words.get(t);const[r,o]=e.range;return Number(t)>=r&&Number(t)<=o?e.words.get("#"):void 0}function $(e,t){return e.words.find(r=>H(I(e),r)===t)}function se(e,t,r){const o=I(e),n=i=>o.properties.indexOf(H(o,i)??""),s=e.words.filter(i=>H(o,i)!==t);return(r===null?s:[...s,r]).sort((i,d)=>n(i)-n(d))}function M(e){return e.filter(t=>$(t,"hidden")===void 0)}function*v(e){yield e;for(const t of e.children)yield*v(t)}function E(e,t){for(const r of v(e))if(r.id===t)return r}function S(e,t){for(const r of v(e))if(r.children.some(o=>o.id===t))return r}function be(e){const[t,r]=e.range;return[...e.words.keys()].map(o=>o==="#"?`${t} to ${r}`:o).join(", ")||"no property"}function w(e){const t=I(e),{text:r,cells:o,words:n}=e,s=`${e.kind} ${e.id}`,i=n.map(c=>{const p=H(t,c);if(p===void 0)throw new f(`${s} has ${g(c)}; allowed: ${be(t)}`);return t.properties.indexOf(p)});if(i.some((c,p)=>p>0&&c<=(i[p-1]??0)))throw new f(`${s} has ${g(n.join(" "))}; allowed: one each of ${be(t)}`);if(r!==""&&!t.hasText||r===""&&t.needsText)throw new f(`${s} has ${r===""?"no":"a"} text; allowed: ${t.hasText?"a":"no"} text`);const[d,l]=t.cells;if(o.length<d||o.length>l||o.length>0&&t.hasText&&r==="")throw new f(`${s} has ${o.length} cells; allowed: ${d} to ${l}, behind its text if it has one`);const a=(c,p)=>new f(`${s} has the string ${g(c)}; allowed: 1 to ${p} characters without |, line ends, and spaces at the ends or side by side`);if(r!==""&&!me.label.test(r))throw a(r,32);for(const c of o)if(!me.cell.test(c))throw a(c,16);for(const c of e.children){if(!t.children.has(c.kind)){const p=[...t.children].sort().join(", ")||"nothing";throw new f(`${s} holds ${c.kind} ${c.id}; allowed: ${p}`)}if(c.kind==="record"&&c.cells.length!==o.length)throw new f(`record ${c.id} has ${c.cells.length} cells; allowed: ${o.length}, as its table`)}return e}function Pe(e){if(e.kind!=="page")throw new f(`the first component is a ${e.kind}; allowed: page`);const t=new Set;for(const{id:o}of v(e)){if(!je.has(o))throw new f(`a slot id is ${g(o)}; allowed: one or two letters from a to z`);if(t.has(o))throw new f(`two slots have the id ${g(o)}; allowed: one each`);t.add(o)}const r=Ee(e);if(r>ee)throw new f(`components stand ${r} levels below the page; allowed: ${ee}`);return e}function Ee(e){return Math.max(0,...e.children.map(t=>1+Ee(t)))}function qe(e,t){const r=1+Math.max(...[...v(e)].map(({id:o})=>je.get(o)??0));if(r+t>z.length)throw new f(`the page has no id left for ${t} new slots; allowed: up to 'zz'`);return z.slice(r,r+t)}function re(e,t=!0){const r=[...t?[e.id]:[],e.kind,...e.words].join(" "),o=[...e.text===""?[]:[e.text],...e.cells].join(" | ");return o===""?r:`${r}: ${o}`}function _(e,{ids:t=!0,indent:r=0}={}){return[" ".repeat(r)+re(e,t),...e.children.map(o=>_(o,{ids:t,indent:r+1}))].join(`
`)}function ie(e,t){const r=Ye.exec(e);if(r===null)throw new f("it is not a component; allowed: a slot id, a kind, its properties, a colon and a text");const[,o="",n,s="",i="",d]=r,l=d===void 0?[]:d.split(" | "),a=l.length>0&&(F.get(s)?.hasText??!1),c=w({id:n??t,kind:s,words:i.split(" ").filter(p=>p!==""),text:a?l[0]??"":"",cells:a?l.slice(1):l,children:[]});return{indent:o.length,hasId:n!==void 0,component:c}}class Te{constructor(){this.path=[]}get length(){return this.path.length}add(t,r){this.complete(r),this.path.push([t,[]])}complete(t){for(;this.path.length>t;){const[r,o]=this.path.at(-1),n=o.length===0?r:w({...r,children:o});this.path.pop(),this.path.at(-1)?.[1].push(n)}}page(){this.complete(1);const[t,r]=this.path[0];return Pe(w({...t,children:r}))}}function tt(e){const t=e.split(`
`);if(t.length>z.length)throw new f(`the page has ${t.length} lines; allowed: ${z.length}`);const r=new Te;let o=!1;return t.forEach((n,s)=>{try{const{indent:i,hasId:d,component:l}=ie(n,z[s]??"");if(s===0&&(o=d),d!==o)throw new f("some lines have slot ids and some do not; allowed: ids on all of them or on none");const a=Math.min(s,1);if(i<a||i>r.length)throw new f(`it has ${i} spaces before it; allowed: ${a} to ${r.length}`);r.add(l,i)}catch(i){throw i instanceof f?new f(`line ${s+1}, ${g(n)}: ${i.message}`):i}}),r.page()}function ge(e){const t=e.split(`
`).slice(0,z.length),r=[],o=[];if(t.forEach((s,i)=>{try{const d=z[i]??"",{indent:l,component:a}=ie(s,d),c=l===0?void 0:r[l-1];if(!(c===void 0?l===0&&i===0&&a.kind==="page":l<=ee&&(F.get(c.kind)?.children.has(a.kind)??!1)&&(a.kind!=="record"||c.cells===a.cells.length)))return;r.splice(l,r.length,{kind:a.kind,cells:a.cells.length}),o.push({component:{...a,id:d},indent:l})}catch(d){if(!(d instanceof f))throw d}}),o.length===0)return null;const n=new Te;for(const{component:s,indent:i}of o)n.add(s,i);return n.page()}const rt=["not on this screen","a screen cannot do that","more than one fits"];function ze(e){return e.startsWith("refuse: ")&&rt.includes(e.slice(8))}function X(e,t){if(ze(t))return e;for(const r of t.split(`
`)){const[o=""]=r.split(" ",1),n=r.slice(o.length+1);try{const s=ve.get(o);if(s===void 0)throw new f(Oe("operation",o,ve.keys()));const i=s.form.exec(n);if(i===null)throw new f(`it is incomplete; allowed, for example: ${o} ${s.example}`);e=Pe(s.run(e,...i.slice(1)))}catch(s){throw s instanceof f?new f(`${g(r)} does not fit: ${s.message}`):s}}return e}function Ie(e,t){const r=e.children.flatMap(s=>Ie(s,t)),n=r.length===e.children.length&&r.every((s,i)=>s===e.children[i])?e:w({...e,children:r});return t.get(e.id)?.(n)??[n]}function x(e,t,r){const[o]=Ie(e,new Map([...t].map(n=>[n,r])));if(o===void 0)throw new f("the page itself cannot be deleted; allowed: slots on it");return o}function m(e,t){const r=E(e,t);if(r!==void 0)return r;const o=[...v(e)].map(n=>n.id).join(", ");throw new f(`there is no slot ${g(t)}; allowed: ${o}`)}function N(e,t){m(e,t);const r=S(e,t);if(r!==void 0)return r;throw new f("the page itself cannot be moved, copied or deleted; allowed: slots on it")}function W(e,t){const r=e.kind==="table"?e.cells.indexOf(t):-1;if(r>=0)return r;throw new f(`${e.kind} ${e.id} has no column ${g(t)}; allowed: ${e.cells.join(", ")||"a table"}`)}function J(e,t){const r=/^([a-z]{1,2})(?:(\*)(-?)([1-9]?)|([+-])([a-z]+)|\[([^\n]+) \| ([^\n]+)\])$/u.exec(t);if(r===null)return[...new Set(t.split(","))].map(h=>m(e,h));const[,o="",n,s,i,d,l="",a,c]=r,p=m(e,o);if(i){const h=M(p.children),k=Number(i);if(k>h.length)throw new f(`${p.kind} ${o} shows no ${i}; allowed: up to ${h.length}`);return s?h.slice(-k):h.slice(0,k)}if(n!==void 0)return p.children;if(a!==void 0){const h=W(p,a);return p.children.filter(k=>k.cells[h]===c)}const b=p.children.filter(h=>I(h).properties.includes(l));if(b.length===0)throw new f(`nothing in ${p.kind} ${o} can be ${g(l)}; allowed: a property of what is in it`);return b.filter(h=>$(h,l)!==void 0==(d==="+"))}const U=e=>e.map(({id:t})=>t);function nt(e,t,r){return x(e,U(J(e,t)),o=>{const n=H(I(o),r);if(n===void 0){const s=[...I(o).words.keys()].join(", ");throw new f(`${o.kind} ${o.id} cannot be ${g(r)}; allowed: ${s}`)}return[w({...o,words:se(o,n,r)})]})}function ot(e,t,r){return x(e,U(J(e,t)),o=>{const n=I(o).properties;if(!n.includes(r))throw new f(`${o.kind} ${o.id} has no ${g(r)}; allowed: ${n.join(", ")}`);return[w({...o,words:se(o,r,null)})]})}function st(e,t,r){return m(e,t),x(e,[t],o=>[w({...o,text:r})])}function le(e,t,...r){return[...e.slice(0,t),...r,...e.slice(t+1)]}function it(e,t,r,o){const n=W(N(e,t),r);return x(e,[t],s=>[w({...s,cells:le(s.cells,n,o)})])}function ae(e,t,r,o){const s=t==="first"||t==="last"?m(e,r):N(e,r),i=s.children.findIndex(a=>a.id===r),d={first:0,last:s.children.length,before:i,after:i+1}[t]??0,l=[...s.children.slice(0,d),o,...s.children.slice(d)];return x(e,[s.id],a=>[w({...a,children:l})])}function lt(e,t,r,o){const{hasId:n,component:s}=ie(o,qe(e,1)[0]??"");if(n)throw new f("the new component has an id; allowed: none, it gets one");return ae(e,t,r,s)}function at(e,t){const r=U(J(e,t));for(const o of r)N(e,o);return x(e,r,()=>[])}function dt(e,t,r,o){N(e,t);const n=m(e,t);if(E(n,o)!==void 0)throw new f(`${o} is in ${t} itself; allowed: a slot outside of it`);return m(e,o),ae(x(e,[t],()=>[]),r,o,n)}function ct(e,t,r){const[o,n]=[m(e,t),m(e,r)];if(N(e,t)!==N(e,r))throw new f(`${t} and ${r} are not in the same slot; allowed: two side by side`);return x(e,[t,r],({id:s})=>[s===t?n:o])}function ft(e,t){const r=m(e,t),o=qe(e,[...v(r)].length)[Symbol.iterator](),n=s=>({...s,id:o.next().value??"",children:s.children.map(n)});return ae(e,"after",t,n(r))}function we(e){const t=/^[^\p{L}\p{N}_-]*(-?\d+(?:\.\d+)?)/u.exec(e),r=e.toUpperCase().toLowerCase().replaceAll("ς","σ");return[t===null?1:0,t===null?0:Number(t[1]),r]}function ut(e,t){const[r,o]=[Array.from(e),Array.from(t)];for(let n=0;n<Math.min(r.length,o.length);n++){const s=(r[n]?.codePointAt(0)??0)-(o[n]?.codePointAt(0)??0);if(s!==0)return s}return r.length-o.length}function ht(e,t,r,o){const n=m(e,t);let s;if(n.kind==="table"){const l=W(n,o);s=a=>we(a.cells[l]??"")}else{if(n.kind!=="list")throw new f(`${t} is a ${n.kind}; allowed: a list or a table`);if(o==="name")s=l=>we(l.text);else if(o==="on"||o==="marked")s=l=>[$(l,o)===void 0?0:1,0,""];else throw new f(`a list cannot be sorted by ${g(o)}; allowed: name, on, marked`)}const i=r==="down"?-1:1,d=n.children.map(l=>({child:l,key:s(l)})).sort(({key:l},{key:a})=>i*(l[0]-a[0]||l[1]-a[1]||ut(l[2],a[2]))).map(({child:l})=>l);return x(e,[t],l=>[{...l,children:d}])}function pt(e,t){const r=new Set(U(J(e,t))),o=/^[a-z]+/.exec(t)?.[0]??"";return x(e,U(m(e,o).children),n=>{const s=r.has(n.id)?null:"hidden";return[w({...n,words:se(n,"hidden",s)})]})}function Se(e,t,r){return x(e,[t],o=>{const n=o.children.map(s=>w({...s,cells:r(s)}));return[w({...o,cells:r(o),children:n})]})}function $t(e,t,r,o){const n=m(e,t);if(n.kind!=="table")throw new f(`${t} is a ${n.kind}; allowed: a table`);return Se(e,t,s=>[...s.cells,s.kind==="table"?r:o])}function mt(e,t,r){const o=W(m(e,t),r);return Se(e,t,n=>le(n.cells,o))}function bt(e,t,r,o){const n=W(m(e,t),r);return x(e,[t],s=>[w({...s,cells:le(s.cells,n,o)})])}const y="([a-z]{1,2})",P="([^\\n]+)",Le="[a-z]{1,2}(?:\\*(?:-?[1-9])?|[+-][a-z]+|\\[[^\\n]+\\])",Y=`([a-z]{1,2}(?:,[a-z]{1,2})*|${Le})`,ye="(first|last|before|after)",ve=new Map([["set",`${Y} ([a-z]+|\\d+)`,"d red",nt],["clear",`${Y} ([a-z]+)`,"d color",ot],["text",`${y}: ${P}`,"d: Save",st],["cell",`${y} ${P} \\| ${P}`,"r Price | 12",it],["add",`${ye} ${y} ([^ ][^\\n]*)`,"last c checkbox: Milk",lt],["del",Y,"d,f",at],["move",`${y} ${ye} ${y}`,"d first c",dt],["swap",`${y} ${y}`,"d e",ct],["copy",y,"d",ft],["sort",`${y} (up|down) ${P}`,"c up name",ht],["only",`(${Le})`,"c-on",pt],["column",`${y} ${P} \\| ${P}`,"t Priority | low",$t],["drop",`${y} ${P}`,"t Price",mt],["head",`${y} ${P} \\| ${P}`,"t Price | Cost",bt]].map(([e,t,r,o])=>[e,{form:new RegExp(`^(?:${t})$`,"u"),example:r,run:o}])),gt=`
> `,xe=5,wt=.9,yt=/\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|\d+(?:st|nd|rd|th)|(?:number|item|task|entry) \d+)\b/i,vt=2,Qt="The model changed nothing: it is so already, or say it in other words.";class Z extends Error{constructor(){super(...arguments),this.name="NotUnderstood"}}function xt(e,t,r){if(!yt.test(r)||/\bhidden\b/i.test(r))return!1;const o=new Set([...v(e)].filter(n=>$(n,"hidden")!==void 0).map(({id:n})=>n));return t.split(`
`).some(n=>{const[,s=""]=n.split(" ");return!n.endsWith(" hidden")&&s.split(",").some(i=>o.has(i))})}function Vt(e,t,{page:r,program:o}){return o===null||e===null||e===t?r:X(e,o)}function Yt(e){return e.filter(({sfumato:t})=>t.tasks.includes("ui_screen"))}async function Zt(e,t,r,o={}){const{page:n=null,seed:s=0,steps:i,signal:d,onDraft:l}=o,a=r.replace(/\s+/gu," ").trim(),c=n===null?`screen: ${a}`:_(n)+gt+a,p=performance.now(),b={model:t,prompt:c,...i===void 0?{}:{steps:i}};let h={...b,seed:s};const k=A=>({...b,seed:s+A,temperature:wt});let[D,he]=["",""];for(let A=1;A<=xe;A++){const{text:j,usage:pe,reason:Ue}=await Ke(e.stream({...h,every_step:!1},d),O=>{if(n!==null||l===void 0)return;const L=ge(We(O));L!==null&&l(L,O)});if(n!==null&&Ue==="steps")throw new Z("The model is not sure what that means, so nothing changed. Try other words.");if(ze(j))throw new Z(`The model declines: ${j.replace("refuse: ","")}.`);try{const O=n===null?tt(j):X(n,j);if(n!==null&&xt(n,j,a))throw new f("it means what is hidden");if(n!==null&&A<xe&&j!==he&&_(O)===_(n)){[he,h]=[j,k(A)];continue}return{page:O,program:n===null?null:j,usage:pe,ms:performance.now()-p}}catch(O){if(!(O instanceof f))throw O;D=O.message;const L=n===null&&A>1?ge(j):null;if(L!==null&&_(L).split(`
`).length>=j.split(`
`).length-vt)return{page:L,program:null,usage:pe,ms:performance.now()-p};h=n===null?kt(b,h,j,D,s+A):k(A)}}const He=n===null?"no screen that can be shown":"no change that fits this screen";throw new Z(`The model wrote ${He}; say it in other words. (${D})`)}function kt(e,t,r,o,n){const s=Number(/^line (\d+)/.exec(o)?.[1]??0),i=r.split(`
`);if(!i[s-1]||t.text!==void 0)return{...e,seed:n};const d=i.slice(0,s-1).reduce((a,c)=>a+c.length+1,0),l=d+(i[s-1]?.length??0);return Be(t,r,Ge([[d,l]],r.length),n)}const Me=["dark","sepia","contrast"];function de(e,t){switch(t.type){case"set":return`set ${t.slot} ${t.word}`;case"toggle":{const r=E(e,t.slot);return r===void 0?null:`${$(r,"on")===void 0?"set":"clear"} ${t.slot} on`}case"add":return ce(e,t.slot,t.text);case"remove":return`del ${t.slot}`;case"move":{const r=jt(e,t.slot,t.by);return r===void 0?null:`swap ${t.slot} ${r.id}`}case"sort":return`sort ${t.slot} ${Ne(e,t.slot,t.by)==="up"?"down":"up"} ${t.by}`;case"filter":{const r=E(e,t.slot);return r===void 0?null:K(r,t.by)}case"theme":return Me.includes(t.name)?`set ${e.id} ${t.name}`:`clear ${e.id} theme`;case"navigate":{const r=S(e,t.slot);return r===void 0?null:`clear ${r.id}* on
set ${t.slot} on`}case"ask":return null}}function Ce(e){return e.replaceAll("|","/").replace(/\s+/gu," ").trim()}function ce(e,t,r){const[o,n]=[E(e,t),Ce(r)];return o===void 0||n===""?null:o.kind==="table"?`add last ${t} record: ${[n,...o.cells.slice(1).map(()=>"-")].join(" | ")}`:`add last ${t} ${o.children.at(-1)?.kind??"checkbox"}: ${n}`}function jt(e,t,r){const n=(S(e,t)?.children??[]).filter(s=>s.id===t||$(s,"hidden")===void 0);return n[n.findIndex(s=>s.id===t)+r]}function Ne(e,t,r){const o=d=>E(d,t)?.children.map(l=>l.id).join(","),n=d=>o(X(e,`sort ${t} ${d} ${r}`))===o(e),[s,i]=[n("up"),n("down")];return s===i?null:s?"up":"down"}const At=/^(?:all|any|every\w*|show all|alle)$/i,Re=/\b(?:done|completed?|finished|checked|ticked)\b/i,Ot=/\b(?:open|active|undone|pending|unfinished|to ?do|not done|left)\b/i;function K(e,t){const{id:r}=e;if(e.children.length===0)return null;if(t===""||At.test(t))return`only ${r}*`;const o=t.toLowerCase();for(const[a,c]of e.kind==="table"?e.cells.entries():[]){const p=e.children.map(b=>b.cells[a]??"").find(b=>b.toLowerCase()===o);if(p!==void 0)return`only ${r}[${c} | ${p}]`}const n=e.children.some(a=>I(a).properties.includes("on"));if(n&&Ot.test(t))return`only ${r}-on`;if(n&&Re.test(t))return`only ${r}+on`;const s=a=>[a.text,...a.cells].join(" ").toLowerCase().includes(o),[i,d]=[e.children.filter(s),e.children.filter(a=>!s(a))],l=(a,c,p)=>c.length===0?[]:[`${a} ${c.map(b=>b.id).join(",")} ${p}`];return[...l("clear",i,"hidden"),...l("set",d,"hidden")].join(`
`)}function fe(e,t){const r=i=>i.kind==="list"||i.kind==="table",o=S(e,t)?.children.find(r);if(o!==void 0)return o;const n=[...v(e)],s=n.findIndex(i=>i.id===t);return n.slice(0,s).findLast(r)??n.find(r)}function Pt(e,t){const r=S(e,t)?.children??[],o=r.findIndex(n=>n.id===t);return r.slice(0,o).filter(n=>["input","select","slider"].includes(n.kind))}function De(e,t,r){const o=E(e,t);if(o===void 0)return{};const n=o.text.toLowerCase(),s=fe(e,t),i=Pt(e,t),d=i.map(h=>h.id),l=S(e,t);if(i.length>0&&s?.kind==="table"&&!/^(?:search|find|filter)/.test(n)){const h=Tt(s,i,r);if(h!==null)return{program:h,clears:d}}if(/^(?:\+|add|new|create|insert|save|ok$)/.test(n)&&s!==void 0&&i.length<=1){const h=i[0]??[...v(e)].find(D=>D.kind==="input");if(h===void 0)return{ask:o.text};const k=ce(e,s.id,r[h.id]??"");return k===null?{say:`Type in “${h.text}” what to add`}:{program:k,clears:[h.id]}}const a=/\b(dark|light|sepia|contrast)\b/.exec(n)?.[1];if(a!==void 0){const h=$(e,"theme")===a;return{program:de(e,{type:"theme",name:h?"light":a})??""}}if(/^(?:reset|cancel)\b/.test(n)&&d.length>0)return{clears:d};if(l?.kind==="card"&&/^(?:delete|remove|close|dismiss)$/.test(n))return{program:`del ${l.id}`};if(l?.kind==="card"&&/^(?:copy|duplicate)$/.test(n))return{program:`copy ${l.id}`};const c=s===void 0?null:qt(s,n,i,r);if(c!==null)return Et(e,c);const p=l?.kind==="card"?`: ${l.text}`:"",b=i.map(h=>r[h.id]??"").filter(h=>h!=="");return{ask:[o.text+p,...b].join(", ")}}function Et(e,t){try{return X(e,t),{program:t}}catch(r){if(r instanceof f)return{say:"There is nothing to do that to"};throw r}}function qt(e,t,r,o){const n=/^(?:clear|delete|remove|empty)\b/.test(t);if(n&&Re.test(t))return`del ${e.id}+on`;if(n&&/\b(?:all|everything|list)\b/.test(t))return`del ${e.id}*`;if(/^sort\b/.test(t)){const s=e.cells.find(i=>t.includes(i.toLowerCase()))??e.cells[0]??"name";return`sort ${e.id} up ${s}`}return/^(?:untick|uncheck|reset|clear)\b/.test(t)?`clear ${e.id}* on`:/^(?:tick|check|complete|finish|mark)\b.*\ball\b/.test(t)?`set ${e.id}* on`:/^(?:search|find|filter)\b/.test(t)&&r[0]!==void 0?K(e,o[r[0].id]??""):/^(?:show|only|view)?\s*(?:all|open|active|done|completed)$/.test(t)?K(e,t.replace(/^(?:show|only|view)\s*/,"")):null}function Tt(e,t,r){const o=e.cells.map(s=>s.toLowerCase());if(!t.every(s=>o.includes(s.text.toLowerCase())))return null;const n=o.map(s=>{const i=t.find(d=>d.text.toLowerCase()===s);return(i===void 0?"":Ce(r[i.id]??""))||"-"});return n.every(s=>s==="-")?null:`add last ${e.id} record: ${n.join(" | ")}`}function zt(e,t,r){const o=E(e,t),n=S(e,t)?.children??[],s=n.slice(n.findIndex(l=>l.id===t)).find(l=>l.kind==="button"),i=fe(e,t);if(o!==void 0&&i!==void 0&&$(o,"type")==="search")return{program:K(i,r[t]??"")??""};if(s!==void 0)return De(e,s.id,r);const d=i===void 0?null:ce(e,i.id,r[t]??"");return d===null?{}:{program:d,clears:[t]}}function It(e,t,r){const o=E(e,t);if(o===void 0)return{};const n=r.toLowerCase();if(Me.includes(n)||n==="light")return{program:de(e,{type:"theme",name:n})??""};const s=fe(e,t);if(s===void 0)return{};if(/\b(?:sort|order)/i.test(o.text)){const l=s.cells.find(a=>a.toLowerCase()===n)??(s.kind==="list"?"name":null);return l===null?{}:{program:`sort ${s.id} up ${l}`}}const i=K(s,r),d=i?.startsWith("set ")===!0&&!i.includes(`
`);return i===null||d?{}:{program:i}}const[ue,_e,C]=[320,150,122];function St(e){return e.cells.map(t=>{const r=/^(.*?)[ :]*(-?\d+(?:\.\d+)?)\D*$/u.exec(t);return{label:(r?.[1]??t)||t,value:r===null?0:Number(r[2])}})}function Lt(e){const t=St(e),r=$(e,"type")??"bar",o=t.map(({label:s,value:i})=>`${s} ${i}`).join(", ")||"no values yet",n=t.length===0?Mt():r==="pie"?Nt(t):Ct(t,r==="line");return u`<svg
    viewBox="0 0 ${ue} ${_e}"
    role="img"
    aria-label="${e.text}, ${r} chart: ${o}"
  >
    ${n}
  </svg>`}function Mt(){return T`<path class="axis" d="M20 ${C}H300"></path>
    <text x=${ue/2} y=${_e/2} text-anchor="middle">no values yet</text>`}function Ct(e,t){const r=Math.max(...e.map(({value:i})=>i),1),o=(ue-40)/e.length,n=e.map(({label:i,value:d},l)=>({label:i,value:d,x:20+o*(l+.5),y:C-Math.max(0,d)/r*(C-24)})),s=T`<polyline class="line" points=${n.map(({x:i,y:d})=>`${i},${d}`).join(" ")}></polyline>`;return T`<path class="axis" d="M20 ${C}H300"></path>
    ${t?s:null}
    ${n.map(({label:i,value:d,x:l,y:a})=>{const c=Math.min(48,o*.6),p=t?T`<circle class="fill" cx=${l} cy=${a} r="4"></circle>`:T`<rect class="fill" x=${l-c/2} y=${a} width=${c} height=${C-a} rx="3"></rect>`;return T`${p}<text x=${l} y=${a-7} text-anchor="middle">${d}</text>
        <text x=${l} y=${C+18} text-anchor="middle">${i}</text>`})}`}function Nt(e){const t=e.reduce((o,{value:n})=>o+Math.max(0,n),0)||1;let r=0;return T`${e.map(({label:o,value:n},s)=>{const i=100*Math.max(0,n)/t,d=r;return r+=i,T`<circle class="slice" style="--n: ${s}" cx="80" cy="75" r="31" pathLength="100"
        stroke-dasharray="${i} ${100-i}" stroke-dashoffset=${-d}></circle>
      <rect class="key" style="--n: ${s}" x="165" y=${22+s*24} width="12" height="12" rx="3"></rect>
      <text x="184" y=${32+s*24}>${o} ${n}</text>`})}`}const Rt=ke`
  .page {
    --red: light-dark(#b3261e, #ff9d94);
    --orange: light-dark(#a8480b, #f5a974);
    --yellow: light-dark(#7a5b00, #e6c65c);
    --green: light-dark(#1b7045, #74d6a4);
    --blue: light-dark(#1d5fbf, #8fbcff);
    --purple: light-dark(#6b3fb0, #c4aef5);
    --pink: light-dark(#b0286f, #f5a3cd);
    --grey: light-dark(#5f5b68, #b5aec2);
    --black: light-dark(#17141c, #000000);
    --white: #ffffff;
    --page: light-dark(#ffffff, #17151d);
    --raised: light-dark(#f6f3f9, #211e2a);
    --ink: light-dark(#211d2b, #ece8f3);
    --soft: light-dark(#625b70, #aaa2ba);
    --edge: light-dark(#ddd7e4, #383246);
    --edge-strong: light-dark(#8f879e, #776e8a);
    --key: light-dark(#5b3fa0, #c4aef5);
    --on-color: light-dark(#ffffff, #17151d);
    --chip: light-dark(#4a4458, #cfc8da);
  }
  .theme-dark {
    color-scheme: dark;
  }
  .theme-sepia {
    --page: #f6ecd9;
    --raised: #efe2c9;
    --ink: #3b2b17;
    --soft: #6a573d;
    --edge: #dccbab;
    --edge-strong: #8d7a5c;
    --key: #7d4a14;
    --yellow: #6b4f00;
    --orange: #963f08;
    --green: #17613c;
    --on-color: #fffaf0;
    color-scheme: light;
  }
  .theme-contrast {
    --red: #ff8a80;
    --orange: #ffb26b;
    --yellow: #ffe45c;
    --green: #6dffa8;
    --blue: #8ec5ff;
    --purple: #d9c2ff;
    --pink: #ff9fd2;
    --grey: #d0d0d0;
    --black: #000000;
    --page: #000000;
    --raised: #000000;
    --ink: #ffffff;
    --soft: #ffffff;
    --edge: #ffffff;
    --edge-strong: #ffffff;
    --key: #ffe45c;
    --on-color: #000000;
    --chip: #d0d0d0;
    color-scheme: dark;
  }
  .c-red {
    --c: var(--red);
  }
  .c-orange {
    --c: var(--orange);
  }
  .c-yellow {
    --c: var(--yellow);
  }
  .c-green {
    --c: var(--green);
  }
  .c-blue {
    --c: var(--blue);
  }
  .c-purple {
    --c: var(--purple);
  }
  .c-pink {
    --c: var(--pink);
  }
  .c-grey {
    --c: var(--grey);
  }
  .c-black {
    --c: var(--black);
    --on: #ffffff;
  }
  .c-white {
    --c: var(--white);
    --on: #17141c;
  }
  /* Letters as bright as the page stand on a ground of their own. */
  :is(.c-white, .c-black):is(.header, .text, .checkbox):not(li) {
    border-radius: 6px;
    padding-inline: 0.4rem;
    margin-inline: -0.4rem;
  }
  .c-white:is(.header, .text, .item, .checkbox) {
    background: light-dark(var(--chip), var(--ground));
  }
  .c-black:is(.header, .text, .item, .checkbox) {
    background: light-dark(var(--ground), var(--chip));
  }
`,Dt=ke`
  :host {
    display: grid;
  }
  .page {
    /* What controls of ours take their colours from. */
    --surface: var(--page);
    --surface-2: var(--raised);
    --text: var(--ink);
    --muted: var(--soft);
    --line: var(--edge);
    --line-strong: var(--edge-strong);
    --accent: var(--key);
    background: var(--page);
    color: var(--ink);
    padding: clamp(0.9rem, 3vw, 1.75rem);
    display: grid;
    gap: 0.9rem;
    align-content: start;
    container-type: inline-size;
    transition:
      background-color calc(var(--motion) * 160ms),
      color calc(var(--motion) * 160ms);
  }
  .slot {
    min-width: 0;
    --ground: transparent;
  }
  .changed {
    animation: changed calc(var(--motion) * 900ms) ease-out;
  }
  @keyframes changed {
    from {
      background: color-mix(in oklab, var(--key) 28%, transparent);
    }
  }
  h2,
  h3,
  p {
    margin: 0;
    overflow-wrap: anywhere;
  }
  h2 {
    font-size: 1.4rem;
    letter-spacing: -0.01em;
  }
  h3 {
    font-size: 1rem;
    margin-bottom: 0.4rem;
  }
  .small:is(.header) h2 {
    font-size: 1.1rem;
  }
  .large:is(.header) h2 {
    font-size: 2rem;
  }
  .small:is(.text, .button) > * {
    font-size: 0.85rem;
  }
  .large:is(.text, .button) > * {
    font-size: 1.3rem;
  }
  .center {
    text-align: center;
  }
  .right {
    text-align: right;
  }
  .bold {
    font-weight: 700;
  }
  .coloured:is(.header, .text, .item, .checkbox) {
    color: var(--c);
  }
  .checkbox.coloured input {
    accent-color: var(--c);
  }
  .button.coloured > button,
  .badge.coloured > span {
    background: var(--c);
    border-color: var(--c);
    color: var(--on, var(--on-color));
  }
  .button.c-white > button,
  .badge.c-white > span {
    border-color: var(--line-strong);
  }
  .badge > span {
    display: inline-block;
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: 99px;
    padding: 0.05rem 0.7rem;
    font-size: 0.85rem;
  }
  .marked {
    --ground: color-mix(in oklab, var(--yellow) 22%, transparent);
    background: var(--ground);
    border-radius: 6px;
  }
  ul,
  ol {
    margin: 0;
    padding: 0;
    display: grid;
    gap: 0.1rem;
  }
  ul {
    list-style: none;
  }
  ul > .item .says::before {
    content: "•" / "";
    margin-right: 0.6rem;
    color: var(--soft);
  }
  ol {
    counter-reset: entry;
    list-style: none;
  }
  ol > li::before {
    counter-increment: entry;
    content: counter(entry) ".";
    min-width: 1.6rem;
    font-variant-numeric: tabular-nums;
    color: var(--soft);
  }
  li {
    display: flex;
    align-items: center;
    gap: 0.4rem;
    padding: 0.15rem 0.4rem;
    border-radius: 6px;
    overflow-wrap: anywhere;
  }
  .says {
    flex: 1;
    text-align: left;
  }
  button.says {
    padding: 0.1rem 0.3rem;
  }
  button.says:hover {
    text-decoration: underline;
  }
  .check {
    flex: 1;
    font-size: 1rem;
    gap: 0.6rem;
    cursor: pointer;
  }
  .check input {
    width: 1.1rem;
    height: 1.1rem;
    flex: none;
  }
  li .check input:checked + .says {
    text-decoration: line-through;
    text-decoration-color: color-mix(in oklab, currentcolor 60%, transparent);
  }
  .remove {
    padding: 0 0.5rem;
    line-height: 1.5;
    opacity: 0;
    color: var(--soft);
  }
  :is(li, tr):is(:hover, :focus-within) .remove {
    opacity: 1;
  }
  @media (hover: none) {
    .remove {
      opacity: 1;
    }
  }
  .hidden-note {
    color: var(--soft);
    font-size: 0.875rem;
    padding: 0.2rem 0.4rem;
  }
  .hidden-note button {
    text-decoration: underline;
    padding: 0.1rem 0.3rem;
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    gap: 0.75rem;
    align-items: end;
  }
  .row > .card {
    flex: 1 1 12rem;
    align-self: stretch;
  }
  .row > :is(.input, .column, .slider, .progress, .chart) {
    flex: 1 1 10rem;
  }
  .row > .checkbox {
    align-self: center;
  }
  .column,
  .card {
    display: grid;
    gap: 0.6rem;
    align-content: start;
  }
  .card {
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: 12px;
    padding: 0.9rem 1rem;
  }
  .card h3 {
    margin: 0;
  }
  .card.coloured {
    border-color: var(--c);
    border-left-width: 5px;
  }
  .card.marked {
    outline: 2px solid var(--yellow);
  }
  .scroll {
    overflow-x: auto;
  }
  table {
    border-collapse: collapse;
    width: 100%;
  }
  th,
  td {
    text-align: left;
    padding: 0.4rem 0.6rem;
    border-bottom: 1px solid var(--line);
  }
  th button {
    padding: 0.1rem 0;
    font-weight: 650;
    white-space: nowrap;
  }
  td.number {
    font-variant-numeric: tabular-nums;
  }
  td .remove {
    float: right;
  }
  [role="tablist"] {
    display: flex;
    flex-wrap: wrap;
    gap: 0.2rem;
    border-bottom: 1px solid var(--line);
  }
  [role="tab"] {
    border-radius: 8px 8px 0 0;
    border-bottom: 2px solid transparent;
    color: var(--soft);
  }
  [role="tab"][aria-selected="true"] {
    color: var(--key);
    border-bottom-color: var(--key);
    font-weight: 600;
  }
  [role="tabpanel"] {
    display: grid;
    gap: 0.75rem;
    padding: 0.9rem 0.1rem 0;
    min-height: 2.5rem;
  }
  .input > label > :is(input, textarea),
  .select select {
    width: 100%;
  }
  progress {
    width: 100%;
    height: 0.6rem;
    accent-color: var(--c, var(--key));
  }
  .slider input {
    width: 100%;
  }
  .chart svg {
    width: 100%;
    max-width: 32rem;
    height: auto;
  }
  .axis,
  .line {
    fill: none;
    stroke: var(--edge-strong);
  }
  .line {
    stroke: var(--c, var(--key));
    stroke-width: 2.5;
    stroke-linejoin: round;
  }
  .fill {
    fill: var(--c, var(--key));
  }
  .slice {
    fill: none;
    stroke-width: 62;
    stroke: color-mix(in oklab, var(--c, var(--key)) calc(100% - var(--n) * 19%), var(--page));
  }
  .key {
    fill: color-mix(in oklab, var(--c, var(--key)) calc(100% - var(--n) * 19%), var(--page));
  }
  svg text {
    fill: var(--ink);
    font-size: 11px;
  }
  .picture {
    width: min(100%, 22rem);
    aspect-ratio: 16 / 10;
    border-radius: 10px;
    display: inline-grid;
    place-items: center;
    padding: 0.5rem;
    color: var(--soft);
    background:
      radial-gradient(circle at 30% 25%, color-mix(in oklab, var(--key) 22%, transparent), transparent 55%),
      radial-gradient(
        circle at 75% 70%,
        color-mix(in oklab, var(--orange) 20%, transparent),
        transparent 55%
      ),
      var(--raised);
    border: 1px dashed var(--edge-strong);
  }
  .image.small .picture {
    width: min(100%, 10rem);
  }
  .image.large .picture {
    width: 100%;
  }
  /* A log takes what room there is, however long it is. */
  .page:has(> .text > pre) {
    grid-template-rows: minmax(10rem, 1fr);
    align-content: stretch;
  }
  .text:has(pre) {
    display: grid;
  }
  pre {
    contain: size;
    margin: 0;
    overflow: auto;
    white-space: pre-wrap;
    overflow-wrap: anywhere;
    font: 0.875rem/1.5 var(--mono);
  }
  textarea {
    resize: vertical;
    font: 0.9rem/1.5 var(--mono);
  }
  hr {
    border: 0;
    border-top: 1px solid var(--line);
    margin: 0.2rem 0;
  }
`,_t=[Rt,Dt];var Ht=Object.defineProperty,Ut=Object.getOwnPropertyDescriptor,Q=(e,t,r,o)=>{for(var n=o>1?void 0:o?Ut(t,r):t,s=e.length-1,i;s>=0;s--)(i=e[s])&&(n=(o?i(t,r,n):i(n))||n);return o&&n&&Ht(t,r,n),n};const Kt={up:"ascending",down:"descending"};let R=class extends Xe{constructor(){super(...arguments),this.page=null,this.bound={},this.draft=!1,this.changed=new Set}willUpdate(e){if(!e.has("page"))return;const t=e.get("page"),r=new Map(t?[...v(t)].map(n=>[n.id,re(n)]):[]),o=this.page===null||r.size===0||this.draft?[]:[...v(this.page)];this.changed=new Set(o.filter(n=>r.get(n.id)!==re(n)).map(({id:n})=>n))}render(){const e=this.page;if(e===null)return q;const t=e.children.some(r=>r.kind==="header");return u`<section
      class="page theme-${$(e,"theme")??"studio"}"
      data-slot=${e.id}
      aria-label=${e.text===""?"Screen":e.text}
      ?inert=${this.draft}
    >
      ${e.text===""||t?q:u`<h2>${e.text}</h2>`} ${this.inside(e)}
    </section>`}inside(e){const t=M(e.children);return G(t,r=>r.id,r=>u`<div class=${this.classes(r)} data-slot=${r.id}>${this.body(r)}</div>`)}classes(e){const t=$(e,"color");return["slot",e.kind,...e.words.filter(r=>r!==t&&!/^\d/.test(r)),...t===void 0?[]:["coloured",`c-${t}`],...this.changed.has(e.id)?["changed"]:[]].join(" ")}body(e){switch(e.kind){case"header":return u`<h2>${e.text}</h2>`;case"text":return this.text(e);case"badge":return u`<span>${e.text}</span>`;case"divider":return u`<hr />`;case"button":return u`<button
          ?disabled=${$(e,"disabled")!==void 0}
          @click=${()=>{this.clicked(e.id,"press")&&this.effect(De(this.shown(),e.id,this.values()))}}
        >
          ${e.text}
        </button>`;case"list":return this.list(e);case"checkbox":return this.checkbox(e);case"input":return this.input(e);case"select":return this.select(e);case"slider":return this.slider(e);case"progress":return u`<label
          ><span>${e.text} <span class="figures">${$(e,"value")??0}%</span></span>
          <progress max="100" value=${$(e,"value")??0}></progress
        ></label>`;case"table":return this.table(e);case"tabs":return this.tabs(e);case"chart":return u`<h3>${e.text}</h3>
          ${Lt(e)}`;case"image":return this.image(e);case"card":return u`${e.text===""?q:u`<h3>${e.text}</h3>`}${this.inside(e)}`;default:return this.inside(e)}}text(e){const{value:t}=this.bound[e.id]??{};return t===void 0?u`<p>${e.text}</p>`:u`<pre role="log" aria-label=${e.text} tabindex="0">${t}</pre>`}list(e){const t=M(e.children),r=G(t,o=>o.id,o=>u`<li
          class=${this.classes(o)}
          data-slot=${o.id}
          @keydown=${n=>this.onEntryKey(n,o.id)}
        >
          ${o.kind==="checkbox"?this.checkbox(o):this.item(o)}
          ${this.removal(o,o.text)}
        </li>`);return u`${e.text===""?q:u`<h3>${e.text}</h3>`}
    ${$(e,"numbered")===void 0?u`<ul>
            ${r}
          </ul>`:u`<ol>
            ${r}
          </ol>`}
    ${this.hiddenNote(e)}`}item({id:e,text:t}){return this.bound[e]?.opens!==!0?u`<span class="says">${t}</span>`:u`<button class="quiet says" @click=${()=>this.clicked(e,"open",t)}>${t}</button>`}removal({id:e},t){return u`<button
      class="quiet remove"
      aria-label="Delete ${t}"
      @click=${()=>this.act({type:"remove",slot:e})}
    >
      ×
    </button>`}hiddenNote(e){const t=e.children.length-M(e.children).length;return t===0?q:u`<p class="hidden-note">
      ${t} hidden
      <button class="quiet" @click=${()=>this.act({type:"filter",slot:e.id,by:"all"})}>
        Show all
      </button>
    </p>`}checkbox(e){return u`<label class="inline check"
      ><input
        type="checkbox"
        .checked=${B($(e,"on")!==void 0)}
        @change=${()=>this.act({type:"toggle",slot:e.id})}
      /><span class="says">${e.text}</span></label
    >`}input(e){const{value:t,isLong:r=!1,isReadonly:o=!1}=this.bound[e.id]??{},n=i=>{t!==void 0&&this.clicked(e.id,"input",i.target.value)},s=i=>{if(i.key!=="Enter"||i.isComposing)return;const d=i.target;t!==void 0?n(i):this.clicked(e.id,"enter",d.value)?this.effect(zt(this.shown(),e.id,this.values())):d.value=""};return u`<label
      ><span>${e.text}${$(e,"required")===void 0?"":" *"}</span>
      ${r?u`<textarea
              data-field=${e.id}
              rows="12"
              spellcheck="false"
              ?readonly=${o}
              .value=${B(t??"")}
              @input=${n}
            ></textarea>`:u`<input
              data-field=${e.id}
              type=${$(e,"type")??"text"}
              autocomplete="off"
              ?required=${$(e,"required")!==void 0}
              ?disabled=${$(e,"disabled")!==void 0}
              .value=${t===void 0?q:B(t)}
              @change=${n}
              @keydown=${s}
            />`}
    </label>`}select(e){const{value:t,options:r=e.cells}=this.bound[e.id]??{};return u`<label
      ><span>${e.text}</span>
      <select
        data-field=${e.id}
        ?disabled=${$(e,"disabled")!==void 0}
        @change=${o=>{const n=o.target.value;this.clicked(e.id,"choose",n)&&this.effect(It(this.shown(),e.id,n))}}
      >
        ${r.map(o=>t===void 0?u`<option>${o}</option>`:u`<option .selected=${o===t}>${o}</option>`)}
      </select></label
    >`}slider(e){const t=$(e,"value")??"50";return u`<label
      ><span>${e.text} <span class="figures">${t}</span></span>
      <input
        data-field=${e.id}
        type="range"
        min="0"
        max="100"
        .value=${B(t)}
        ?disabled=${$(e,"disabled")!==void 0}
        @change=${r=>this.act({type:"set",slot:e.id,word:r.target.value})}
    /></label>`}table(e){const t=M(e.children),r=G(t,n=>n.id,n=>u`<tr
          class=${this.classes(n)}
          data-slot=${n.id}
          @keydown=${s=>this.onEntryKey(s,n.id)}
        >
          ${n.cells.map((s,i)=>u`<td class=${/^-?\d/.test(s)?"number":""}>
                ${s}${i===n.cells.length-1?this.removal(n,n.cells[0]??""):q}
              </td>`)}
        </tr>`),o=e.cells.map(n=>{const s=this.draft?null:Ne(this.shown(),e.id,n);return u`<th scope="col" aria-sort=${s===null?"none":Kt[s]}>
        <button class="quiet" @click=${()=>this.act({type:"sort",slot:e.id,by:n})}>
          ${n}<span aria-hidden="true">${s===null?"":s==="up"?" ↑":" ↓"}</span>
        </button>
      </th>`});return u`<div class="scroll" tabindex="0" role="region" aria-label=${e.cells.join(", ")}>
        <table>
          <thead>
            <tr>
              ${o}
            </tr>
          </thead>
          <tbody>
            ${r}
          </tbody>
        </table>
      </div>
      ${this.hiddenNote(e)}`}tabs(e){const t=M(e.children),r=t.find(n=>$(n,"on")!==void 0)??t[0];return r===void 0?q:u`<div role="tablist" @keydown=${n=>{const s={ArrowRight:1,ArrowLeft:-1}[n.key],i=s===void 0?void 0:t[(t.indexOf(r)+s+t.length)%t.length];i!==void 0&&(n.preventDefault(),this.act({type:"navigate",slot:i.id}),this.updateComplete.then(()=>this.renderRoot.querySelector(`#tab-${i.id}`)?.focus()))}}>
        ${G(t,n=>n.id,n=>u`<button
              class="quiet"
              role="tab"
              id="tab-${n.id}"
              data-slot=${n.id}
              aria-selected=${String(n===r)}
              aria-controls="panel-${e.id}"
              tabindex=${n===r?0:-1}
              @click=${()=>this.act({type:"navigate",slot:n.id})}
            >
              ${n.text}
            </button>`)}
      </div>
      <div role="tabpanel" id="panel-${e.id}" aria-labelledby="tab-${r.id}" tabindex="0">
        ${this.inside(r)}
      </div>`}image(e){return u`<div class="picture" role="img" aria-label="Place of a picture: ${e.text}">
      <span aria-hidden="true">${e.text}</span>
    </div>`}onEntryKey(e,t){const r=e.altKey?{ArrowUp:-1,ArrowDown:1}[e.key]:void 0;if(e.key==="Delete")this.act({type:"remove",slot:t});else if(r!==void 0)this.act({type:"move",slot:t,by:r});else return;e.preventDefault()}shown(){if(this.page===null)throw new Error("there is no page");return this.page}values(){const e=[...this.renderRoot.querySelectorAll("[data-field]")];return Object.fromEntries(e.map(t=>[t.dataset.field??"",t.value]))}clicked(e,t,r=""){const o={element:e,type:t,value:r};return this.dispatchEvent(new CustomEvent("sf-click",{detail:o,bubbles:!0,composed:!0,cancelable:!0}))}act(e){const t="by"in e?String(e.by):"word"in e?e.word:"";if(!this.clicked(e.slot,e.type,t))return;const r=de(this.shown(),e);r!==null&&this.effect({program:r})}updated(){for(const e of this.renderRoot.querySelectorAll("pre"))e.scrollTop=e.scrollHeight}effect(e){for(const t of e.clears??[]){const r=this.renderRoot.querySelector(`[data-field="${t}"]`);r!==null&&r.type!=="range"&&(r.value="")}this.dispatchEvent(new CustomEvent("sf-effect",{detail:e,bubbles:!0,composed:!0})),this.requestUpdate()}};R.styles=[Fe,_t];Q([ne({attribute:!1})],R.prototype,"page",2);Q([ne({attribute:!1})],R.prototype,"bound",2);Q([ne({type:Boolean})],R.prototype,"draft",2);R=Q([Je("sf-screen")],R);export{Z as N,f as P,Qt as U,Yt as a,Zt as b,Pe as c,X as e,$ as g,qe as n,Vt as o,tt as p,E as s,_ as t,v as w};
