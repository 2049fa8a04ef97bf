// Compares decoded blocks with what an independent implementation made of them (data/oracle).
// Each function returns the first difference in words, or an empty string.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "chain/block.h"

namespace coffer::oracle {

std::string compare_cardano(const chain::Block& block, const boost::json::object& expected);
std::string compare_bitcoin(const chain::Block& block, const boost::json::object& expected);

}  // namespace coffer::oracle
