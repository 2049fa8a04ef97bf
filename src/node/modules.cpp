#include "node/module.h"

namespace coffer::node {
namespace {

std::span<const Module* const> all_modules;

}  // namespace

std::span<const Module* const> modules() {
  return all_modules;
}

void set_modules(std::span<const Module* const> all) {
  all_modules = all;
  for (const Module* module : all) config::declare(module->settings, module->check_settings);
}

const Module* find_module(std::string_view name) {
  for (const Module* module : all_modules)
    if (module->name == name) return module;
  return nullptr;
}

}  // namespace coffer::node
