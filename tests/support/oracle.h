// Compares what we make of a block with what an independent implementation made of it
// (data/oracle).
#pragma once

#include <boost/json.hpp>
#include <string>

namespace coffer::oracle {

// The first place where `got` is not what `expected` says, in words; empty if there is none. Fields
// that only `got` has do not count.
std::string first_difference(const boost::json::value& expected, const boost::json::value& got,
                             const std::string& path = "");

// What the oracle says of a block, with amounts and quantities as `decode` prints them: it has
// numbers, which not every reader of JSON can hold (U9).
boost::json::value with_text_amounts(boost::json::value block);

}  // namespace coffer::oracle
