// The token ledger as a module of the program. No chain feeds it: it has no consumer.
#pragma once

#include <memory>

#include "node/module.h"

namespace coffer::token {

const node::Module& token_module();

}  // namespace coffer::token
