// What a Store holds beside its backend.
#pragma once

#include <coffer/txstore/store.h>
#include "txstore/operations.h"

namespace coffer::txstore {

struct Store::Impl {
  Impl(std::unique_ptr<Backend> the_backend, const chain::Network& the_network,
       const Options& the_options)
      : backend(std::move(the_backend)), network(the_network), options(the_options) {}

  // Calls the body with the workspace of one unit, saves what it changed and returns what it
  // returned. The body may be called again: it has no effect but on the workspace.
  template <typename T>
  Result<T> run(Hold hold, const std::function<Result<T>(Workspace&)>& body) {
    std::optional<T> answer;
    const Result<> done = run_unit(hold, [&](Workspace& work) -> Result<> {
      Result<T> got = body(work);
      if (!got) return fail(std::move(got).error());
      answer = std::move(*got);
      return {};
    });
    if (!done) return fail(done.error());
    return std::move(*answer);
  }
  Result<> run_unit(Hold hold, const std::function<Result<>(Workspace&)>& body);
  // The same for answers, from one moment.
  template <typename T>
  Result<T> read(const std::function<Result<T>(View&)>& body) const {
    std::optional<T> answer;
    const Result<> done = backend->read([&](View& view) -> Result<> {
      Result<T> got = body(view);
      if (!got) return fail(std::move(got).error());
      answer = std::move(*got);
      return {};
    });
    if (!done) return fail(done.error());
    return std::move(*answer);
  }
  // Puts the outputs that the chain begins with into a new store.
  Result<> begin(std::span<const chain::GenesisUtxo> genesis);

  const std::unique_ptr<Backend> backend;
  const chain::Network network;
  const Options options;

  mutable std::mutex mutex;  // guards what follows
  Tip tip;
  CounterTotals counters;
  std::vector<chain::Outpoint> redeem_outputs;  // that the first Allegra block takes away (U6)
};

}  // namespace coffer::txstore
