#include "http/router.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "http/url.h"

namespace coffer::http {
namespace {

constexpr std::size_t kMaxSegments = 16;

// "/a/b" is {"a", "b"}; "/" is {""}. Nothing above the bound: no route is that deep.
std::optional<std::vector<std::string_view>> split(std::string_view path) {
  std::vector<std::string_view> segments;
  if (path.empty() || path.front() != '/') return std::nullopt;
  path.remove_prefix(1);
  for (;;) {
    std::size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (segments.size() > kMaxSegments) return std::nullopt;
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

bool is_param(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

}  // namespace

struct Router::Node {
  std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
  std::unique_ptr<Node> param;
  std::string param_name;
  std::array<const Route*, kMethodCount> routes{};

  bool has_routes() const {
    return std::any_of(routes.begin(), routes.end(), [](auto* route) { return route != nullptr; });
  }

  // Pushes the values of the parameters onto `values`; nothing if no node ends here.
  const Node* find(const std::vector<std::string_view>& segments, std::size_t at,
                   std::vector<std::pair<std::string_view, std::string_view>>& values) const {
    if (at == segments.size()) return has_routes() ? this : nullptr;
    if (auto literal = literals.find(segments[at]); literal != literals.end())
      if (auto* found = literal->second->find(segments, at + 1, values)) return found;
    if (!param || segments[at].empty()) return nullptr;
    values.emplace_back(param_name, segments[at]);
    if (auto* found = param->find(segments, at + 1, values)) return found;
    values.pop_back();
    return nullptr;
  }
};

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

std::size_t Router::insert(Method method, std::string_view pattern, Route route) {
  auto segments = split(pattern);
  CHECK(segments.has_value());
  Node* node = root_.get();
  for (std::string_view segment : *segments) {
    if (is_param(segment)) {
      std::string_view param_name = segment.substr(1, segment.size() - 2);
      if (!node->param) {
        node->param = std::make_unique<Node>();
        node->param_name = param_name;
      }
      CHECK(node->param_name == param_name);
      node = node->param.get();
    } else {
      CHECK(segment.find_first_of("{}%?#") == std::string_view::npos);
      auto& next = node->literals[std::string(segment)];
      if (!next) next = std::make_unique<Node>();
      node = next.get();
    }
  }
  auto& slot = node->routes[static_cast<std::size_t>(method)];
  CHECK(slot == nullptr);
  CHECK(!route.options.on_io_thread || (route.handler && route.options.pool.empty()));
  route.info = {routes_.size(), method, std::string(pattern)};
  routes_.push_back(std::move(route));
  slot = &routes_.back();
  return slot->info.id;
}

std::size_t Router::add(Method method, std::string_view pattern, Handler handler,
                        RouteOptions options) {
  CHECK(handler != nullptr);
  return insert(method, pattern, {.handler = std::move(handler), .options = std::move(options)});
}

std::size_t Router::add_async(Method method, std::string_view pattern, AsyncHandler handler,
                              RouteOptions options) {
  CHECK(handler != nullptr);
  return insert(method, pattern, {.async = std::move(handler), .options = std::move(options)});
}

std::size_t Router::add_stream(std::string_view pattern, StreamHandler handler,
                               RouteOptions options) {
  CHECK(handler != nullptr);
  return insert(Method::kGet, pattern,
                {.stream = std::move(handler), .options = std::move(options)});
}

std::set<std::string> Router::pools() const {
  std::set<std::string> names;
  for (const Route& route : routes_)
    if (!route.options.pool.empty()) names.insert(route.options.pool);
  return names;
}

Router::Match Router::match(std::optional<Method> method, std::string_view raw_path) const {
  Match result;
  auto segments = split(raw_path);
  if (!segments) return result;
  std::vector<std::pair<std::string_view, std::string_view>> values;
  const Node* node = root_->find(*segments, 0, values);
  if (node == nullptr) return result;
  const Route* get = node->routes[static_cast<std::size_t>(Method::kGet)];
  const Route* route = method ? node->routes[static_cast<std::size_t>(*method)] : nullptr;
  if (route == nullptr && method == Method::kHead) route = get;
  if (route == nullptr) {
    for (std::size_t i = 0; i < kMethodCount; ++i) {
      auto each = static_cast<Method>(i);
      bool by_get = each == Method::kHead && get != nullptr;
      if (node->routes[i] == nullptr && !by_get) continue;
      if (!result.allow.empty()) result.allow += ", ";
      result.allow += name(each);
    }
    return result;
  }
  for (auto [key, value] : values) {
    auto decoded = percent_decode(value);
    if (!decoded) {
      result.malformed = true;
      return result;
    }
    result.params.push_back({std::string(key), std::move(*decoded)});
  }
  result.route = route;
  return result;
}

}  // namespace coffer::http
