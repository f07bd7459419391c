import eslint from "@eslint/js";
import tseslint from "typescript-eslint";

const worker = Object.fromEntries(
  [
    "addEventListener",
    "skipWaiting",
    "clients",
    "fetch",
    "caches",
    "Response",
    "URL",
    "location",
    "document",
    "localStorage",
  ].map((name) => [name, "readonly"]),
);
const ofPublic = { files: ["public/*.js"], languageOptions: { globals: worker } };

export default tseslint.config({ ignores: ["node_modules"] }, eslint.configs.recommended, ofPublic, {
  files: ["**/*.ts"],
  extends: [tseslint.configs.strictTypeChecked],
  languageOptions: { parserOptions: { projectService: true } },
  rules: {
    "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    // Lit calls an element's listeners with the element as `this`.
    "@typescript-eslint/unbound-method": "off",
  },
});
