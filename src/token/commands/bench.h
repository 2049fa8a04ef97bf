// `coffer bench token`: transfers a second, each figure beside the mark that it is compared with.
#pragma once

#include "node/command.h"

namespace coffer::token {

cli::Command bench_token();

}  // namespace coffer::token
