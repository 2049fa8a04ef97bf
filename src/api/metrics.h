// Metrics by name and labels, in Prometheus' text form. Hides the library: no other file includes
// it. Invariant: label values come from a bounded set (route patterns, consumer names), never from
// input.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace coffer::api {

using Labels = std::map<std::string, std::string>;

// Handles: cheap to copy, thread-safe, valid as long as their Metrics.
class Counter {
 public:
  void add(double by = 1);

 private:
  friend class Metrics;
  explicit Counter(prometheus::Counter& counter) : counter_(&counter) {}
  prometheus::Counter* counter_;
};

class Gauge {
 public:
  void set(double value);

 private:
  friend class Metrics;
  explicit Gauge(prometheus::Gauge& gauge) : gauge_(&gauge) {}
  prometheus::Gauge* gauge_;
};

class Histogram {
 public:
  void observe(double value);

 private:
  friend class Metrics;
  explicit Histogram(prometheus::Histogram& histogram) : histogram_(&histogram) {}
  prometheus::Histogram* histogram_;
};

// Thread-safe. The same name and labels give the same metric again; a name used for another kind,
// or not a Prometheus name, is a bug and fails a CHECK. Finding one costs locks and look-ups: keep
// it.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  Counter counter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge gauge(const std::string& name, const std::string& help, const Labels& labels = {});
  // `bounds` are the upper ends of the buckets, in order; those of the first call of a name count.
  Histogram histogram(const std::string& name, const std::string& help, const Labels& labels,
                      const std::vector<double>& bounds);

  // Called before each reading, to set gauges. The id ends it: after remove() no call is under way.
  std::size_t on_collect(std::function<void(Metrics&)> callback);
  void remove(std::size_t id);

  // What /metrics answers.
  std::string text();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace coffer::api
