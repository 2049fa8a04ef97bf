// The transaction store as a module of the program: database, store and consumer of a running node.
#pragma once

#include "node/module.h"

namespace coffer::txstore {

const node::Module& txstore_module();

}  // namespace coffer::txstore
