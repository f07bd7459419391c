function n(c,e,l){const o=[...c.querySelectorAll(e)].filter(({hidden:f})=>!f),t=o[l]??o.at(-1);return t?.focus(),t!==void 0}export{n as f};
