// Why a transaction is still stored, or is not, in words: one text for HTTP and command line.
#pragma once

#include <optional>
#include <string>

#include <coffer/txstore/store.h>

namespace coffer::txstore {

// All are thread-safe and open nothing.

// The reason that a person looks for. The rule asks first whether a delete_at_height is reached,
// and most transactions have none: then it is the condition that keeps it from being stamped.
retention::Reason keep_reason(const Explanation& found);
// A sentence without its full stop: "output 0 is unspent".
std::string keep_text(chain::Family family, const Explanation& found, const Tip& tip);

// The earliest height of the tip at which it can be deleted if nothing but blocks comes; nothing if
// it takes more than that.
std::optional<std::uint64_t> earliest_height(const Explanation& found, const Tip& tip,
                                             const Options& options);

// Why it is not stored, as one sentence that names it.
std::string absence_text(chain::Family family, const Hash256& id, Absence absence, const Tip& tip);
// The same as an error. Errors: kNotFound, always, unless the store cannot be read.
Error absence_error(const Store& store, const Hash256& id);

}  // namespace coffer::txstore
