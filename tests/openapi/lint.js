// node lint.js FILE: lints an OpenAPI document with Redocly's recommended rules. Prints each finding in a line; exits with 1 if one is
// an error.
'use strict';
const fs = require('fs');
const { lintFromString, createConfig } = require('@redocly/openapi-core');

async function main() {
  const source = fs.readFileSync(process.argv[2], 'utf8');
  const config = await createConfig({ extends: ['recommended'] });
  const findings = await lintFromString({ source, absoluteRef: process.argv[2], config });
  for (const { severity, ruleId, message, location } of findings)
    console.log(`${severity} ${ruleId}: ${message} ${location?.[0]?.pointer ?? ''}`);
  const errors = findings.filter((finding) => finding.severity === 'error').length;
  console.log(`${errors} errors, ${findings.length - errors} warnings`);
  process.exitCode = errors > 0 ? 1 : 0;
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 2;
});
