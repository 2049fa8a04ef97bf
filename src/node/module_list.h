// The list of all modules. Its definition is made by CMake from the src/*/module.cpp that it finds,
// and linked with the program and with tests of all of it; the library coffer_node knows no engine.
#pragma once

#include "node/module.h"

namespace coffer::node {

std::span<const Module* const> module_list();

}  // namespace coffer::node
