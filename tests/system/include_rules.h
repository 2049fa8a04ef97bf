// Who may include whom under src/: the kernels by this table, an engine by what its CMakeLists.txt
// states. Read with the project's root as working directory.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace coffer {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

// What each kernel under src/ may include besides itself; what those may include is allowed as
// well. What an engine may include stands in its own CMakeLists.txt.
inline const std::map<std::string, Names> kKernels = {
    {"base", {}},
    {"json", {"base"}},
    {"crypto", {"base"}},
    {"codec", {"crypto"}},
    {"mmr", {"crypto"}},
    {"chain", {"codec", "json"}},
    {"retention", {"chain"}},
    {"kv", {"base"}},
    {"sql", {"base"}},
    {"http", {"json"}},
    {"oidc", {"json", "http"}},
    {"config", {"json"}},
    {"bus", {"chain"}},
    {"chainstate", {"chain", "kv", "bus"}},
    {"feed", {"chain", "bus", "json", "http"}},
    {"follow", {"feed", "chainstate", "bus"}},
    {"api", {"http", "json", "config", "chainstate", "oidc"}},
    {"cli", {"json", "config"}},
    {"node", {"follow", "api", "cli", "sql"}},
};

// The kernels that an engine states, from "coffer_engine(name DEPS …)".
inline Names stated_deps(const std::string& line) {
  Names deps;
  std::istringstream words(line.substr(std::min(line.find(" DEPS "), line.size())));
  std::string word;
  words >> word;
  while (words >> word && word != "LINK" && word != "SANITIZE") {
    word = word.substr(0, word.find(')'));
    if (!word.empty()) deps.insert(word);
  }
  return deps;
}

inline Names engines() {
  Names names;
  for (const auto& entry : fs::directory_iterator("src")) {
    std::ifstream in(entry.path() / "CMakeLists.txt");
    std::string line;
    if (std::getline(in, line) && line.starts_with("coffer_engine("))
      names.insert(entry.path().filename().string());
  }
  return names;
}

// Kernels, engines and their faces.
inline const std::map<std::string, Names>& may_include() {
  static const std::map<std::string, Names> all = [] {
    std::map<std::string, Names> rules = kKernels;
    for (const std::string& engine : engines()) {
      std::ifstream in("src/" + engine + "/CMakeLists.txt");
      std::string line;
      std::getline(in, line);
      rules[engine] = stated_deps(line);
      rules[engine + "_faces"] = {engine, "node"};
    }
    return rules;
  }();
  return all;
}

// The library that a path under src/ belongs to: its directory, or the faces of an engine.
inline std::string library_of(const std::string& path) {
  std::string directory = path.substr(0, path.find('/'));
  static const Names all_engines = engines();
  if (!all_engines.contains(directory)) return directory;
  const std::string rest = path.substr(std::min(path.size(), directory.size() + 1));
  for (const char* face : {"json/", "routes/", "commands/", "settings", "module"})
    if (rest.starts_with(face)) return directory + "_faces";
  return directory;
}

inline Names reachable_from(const std::string& directory) {
  Names all = {directory};
  std::vector<std::string> open = {directory};
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    for (const auto& other : may_include().at(next))
      if (all.insert(other).second) open.push_back(other);
  }
  return all;
}

}  // namespace coffer
