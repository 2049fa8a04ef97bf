#include "api/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <exception>
#include <mutex>

#include "base/check.h"

namespace coffer::api {

struct Metrics::Impl {
  prometheus::Registry registry;
  std::mutex mutex;
  std::map<std::size_t, std::function<void(Metrics&)>> callbacks;  // called under mutex
  std::size_t next_id = 1;

  // The library throws on a bad name or a second kind of the same name.
  template <typename Build>
  static auto& checked(Build build) {
    try {
      return build();
    } catch (const std::exception& error) {
      check_failed(error.what(), __FILE__, __LINE__);
    }
  }
};

void Counter::add(double by) {
  counter_->Increment(by);
}
void Gauge::set(double value) {
  gauge_->Set(value);
}
void Histogram::observe(double value) {
  histogram_->Observe(value);
}

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

Counter Metrics::counter(const std::string& name, const std::string& help, const Labels& labels) {
  return Counter(Impl::checked([&]() -> prometheus::Counter& {
    return prometheus::BuildCounter().Name(name).Help(help).Register(impl_->registry).Add(labels);
  }));
}

Gauge Metrics::gauge(const std::string& name, const std::string& help, const Labels& labels) {
  return Gauge(Impl::checked([&]() -> prometheus::Gauge& {
    return prometheus::BuildGauge().Name(name).Help(help).Register(impl_->registry).Add(labels);
  }));
}

Histogram Metrics::histogram(const std::string& name, const std::string& help, const Labels& labels,
                             const std::vector<double>& bounds) {
  return Histogram(Impl::checked([&]() -> prometheus::Histogram& {
    auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(impl_->registry);
    return family.Add(labels, prometheus::Histogram::BucketBoundaries(bounds));
  }));
}

std::size_t Metrics::on_collect(std::function<void(Metrics&)> callback) {
  std::lock_guard lock(impl_->mutex);
  impl_->callbacks.emplace(impl_->next_id, std::move(callback));
  return impl_->next_id++;
}

void Metrics::remove(std::size_t id) {
  std::lock_guard lock(impl_->mutex);
  impl_->callbacks.erase(id);
}

std::string Metrics::text() {
  {
    std::lock_guard lock(impl_->mutex);
    for (auto& [id, callback] : impl_->callbacks) callback(*this);
  }
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace coffer::api
