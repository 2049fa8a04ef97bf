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

}  // namespace coffer::oracle
