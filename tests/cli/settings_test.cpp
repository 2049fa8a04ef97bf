#include "config/config.h"

#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "config/keys.h"
#include "node/module_list.h"
#include "node/network_setup.h"
#include "utxo/settings.h"
#include "wallet/settings.h"

namespace coffer::node {
namespace {

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() { set_modules(module_list()); }
  // A file in the directory of this test; its path.
  std::string file(const std::string& content, const std::string& name = "my.toml") {
    const auto path = dir_.path() / name;
    EXPECT_TRUE(write_file_atomically(path, as_bytes(content), {.sync = false}));
    return path.string();
  }
  // The message of the error that these sources give, with this test's directory cut out.
  std::string error(const config::ConfigSources& sources) {
    const auto config = config::load_config(sources);
    if (config) return "no error";
    EXPECT_EQ(config.error().message.find('\n'), std::string::npos);
    code_ = config.error().code;
    std::string message = config.error().message;
    const std::string directory = dir_.path().string() + "/";
    for (auto at = message.find(directory); at != std::string::npos; at = message.find(directory))
      message.erase(at, directory.size());
    return message;
  }
  std::string file_error(const std::string& content) { return error({file(content), {}, {}}); }

  TempDir dir_;
  Code code_ = Code::kInternal;
};

TEST_F(ConfigTest, DefaultsAreWithinTheirOwnBounds) {
  const auto config = config::load_config({});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->http.listen, "127.0.0.1:7117");
  EXPECT_EQ(config->ready.max_behind, 2u);
  EXPECT_EQ(config->events.keep, 10'000u);
  EXPECT_EQ(config->chainstate.rollback_window, std::nullopt);
  EXPECT_EQ(config->file, "");
  std::string all;
  for (const config::Key& key : config::config_keys())
    if (const auto text = config::default_text(key); !text.empty())
      all += fmt::format("{} = {}\n", key.name, text);
  const auto again = config::load_config({file(all), {}, {}});
  ASSERT_TRUE(again) << again.error().message;
}

TEST_F(ConfigTest, ReadsEveryType) {
  const auto config = config::load_config({file(R"(
data_dir = "elsewhere"
chain = "cardano"
network = "preprod"
source = "immutable:db"
devnet = { seed = 77, reorg_every = 0 }
chainstate.rollback_window = 2_160

[http]
allowed_hosts = ["a.example", "b.example"]
behind_proxy = true
[http.tls]
cert = "c.pem"
key = "k.pem"
[log]
)"),
                                           {},
                                           {}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->data_dir, "elsewhere");
  EXPECT_EQ(config->chain, "cardano");
  EXPECT_EQ(config->devnet.seed, 77u);
  EXPECT_EQ(config->devnet.reorg_every, 0u);
  EXPECT_EQ(config->chainstate.rollback_window, 2'160u);
  EXPECT_EQ(config->http.allowed_hosts, (std::vector<std::string>{"a.example", "b.example"}));
  EXPECT_TRUE(config->http.behind_proxy);
  EXPECT_EQ(config->http.tls.key, "k.pem");
  EXPECT_EQ(config->log.level, "info");
  EXPECT_TRUE(config->file.ends_with("my.toml"));
}

TEST_F(ConfigTest, VariablesWinOverTheFileAndFlagsOverBoth) {
  config::ConfigSources sources{
      file("[devnet]\nseed = 1\ntxs_per_block = 1\nreorg_every = 1\n"), {}, {}};
  sources.environment = {"PATH=x", "COFFER_DEVNET_TXS_PER_BLOCK=2", "COFFER_DEVNET_REORG_EVERY=2"};
  sources.flags = {{"devnet.reorg_every", "3"}, {"http.behind_proxy", "true"}};
  const auto config = config::load_config(sources);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->devnet.seed, 1u);
  EXPECT_EQ(config->devnet.txs_per_block, 2u);
  EXPECT_EQ(config->devnet.reorg_every, 3u);
  EXPECT_TRUE(config->http.behind_proxy);
}

TEST_F(ConfigTest, VariablesHoldListsAndSwitches) {
  const auto config = config::load_config(
      {"", {"COFFER_HTTP_ALLOWED_HOSTS=a, b ,", "COFFER_HTTP_BEHIND_PROXY=1"}, {}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->http.allowed_hosts, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(config->http.behind_proxy);
}

TEST_F(ConfigTest, FindsTheFileInTheDataDirectory) {
  file("[events]\nkeep = 5\n", "coffer.toml");
  const std::string data = dir_.path().string();
  for (const config::ConfigSources& sources :
       {config::ConfigSources{"", {"COFFER_DATA_DIR=" + data}, {}},
        config::ConfigSources{"", {}, {{"data_dir", data}}}}) {
    const auto config = config::load_config(sources);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->events.keep, 5u);
    EXPECT_EQ(config->data_dir, data);
    EXPECT_EQ(config->file, data + "/coffer.toml");
  }
  // A file named by --config is read instead.
  const auto other =
      config::load_config({file("ready.max_behind = 9"), {"COFFER_DATA_DIR=" + data}, {}});
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->events.keep, 10'000u);

  file("events.keep = 5\ndata_dir = \"x\"\n", "coffer.toml");
  EXPECT_TRUE(error({"", {}, {{"data_dir", data}}}).starts_with("coffer.toml:2: data_dir cannot"));
}

TEST_F(ConfigTest, UnknownKeyIsNamedWithTheNearest) {
  EXPECT_EQ(file_error("\n[http]\nlisten_on = \"x\"\n"),
            "my.toml:3: unknown key http.listen_on; did you mean http.listen?");
  EXPECT_EQ(code_, Code::kUsage);
  EXPECT_EQ(file_error("listen = \"x\""),
            "my.toml:1: unknown key listen; did you mean http.listen?");
  EXPECT_EQ(file_error("completely_different.thing = 1"),
            "my.toml:1: unknown key completely_different.thing; `coffer settings` lists them all");
  EXPECT_EQ(file_error("[nothing]"),
            "my.toml:1: unknown key nothing; `coffer settings` lists them all");
  EXPECT_EQ(error({"", {"COFFER_HTP_LISTEN=x"}, {}}),
            "unknown variable COFFER_HTP_LISTEN; did you mean COFFER_HTTP_LISTEN?");
  EXPECT_EQ(error({"", {}, {{"chian", "bitcoin"}}}), "unknown key chian; did you mean chain?");
}

TEST_F(ConfigTest, VariablesOfTestsAndScriptsAreIgnored) {
  EXPECT_TRUE(config::load_config(
      {"",
       {"COFFER_SHARED=x", "COFFER_REQUIRE_DATA=1", "COFFER_LONG=1", "COFFER_SEED=4",
        "COFFER_SEEDS=9", "COFFER_TEST_X=4", "COFFERX=1", "PATH=/bin"},
       {}}));
}

TEST_F(ConfigTest, WrongTypeOrBoundIsExplained) {
  EXPECT_EQ(file_error("[http]\nworkers = \"many\""),
            "my.toml:2: http.workers is \"many\"; expected a whole number from 1 to 256");
  EXPECT_EQ(file_error("http.workers = 0"),
            "my.toml:1: http.workers is 0; expected a whole number from 1 to 256");
  EXPECT_EQ(file_error("http.workers = -1"),
            "my.toml:1: http.workers is -1; expected a whole number from 1 to 256");
  EXPECT_EQ(
      file_error("http.workers = 1.5"),
      "my.toml:1: http.workers is a number with a fraction; expected a whole number from 1 to 256");
  EXPECT_EQ(file_error("http.behind_proxy = \"yes\""),
            "my.toml:1: http.behind_proxy is \"yes\"; expected true or false");
  EXPECT_EQ(file_error("chain = \"doge\""),
            "my.toml:1: chain is \"doge\"; expected one of bitcoin, cardano");
  EXPECT_EQ(file_error("chain = [\"bitcoin\"]"),
            "my.toml:1: chain is a list; expected one of bitcoin, cardano");
  EXPECT_EQ(file_error("http.allowed_hosts = [1]"),
            "my.toml:1: http.allowed_hosts is a list of other things than texts; expected a list "
            "of texts");
  EXPECT_EQ(file_error("http.allowed_hosts = \"a\""),
            "my.toml:1: http.allowed_hosts is \"a\"; expected a list of texts");
  EXPECT_EQ(file_error("data_dir = \"\""), "my.toml:1: data_dir is \"\"; expected a directory");
  EXPECT_EQ(
      file_error("chainstate.rollback_window = 0"),
      "my.toml:1: chainstate.rollback_window is 0; expected a whole number from 1 to 1000000");
  EXPECT_EQ(
      error({"", {"COFFER_EVENTS_KEEP=12x"}, {}}),
      "COFFER_EVENTS_KEEP: events.keep is \"12x\"; expected a whole number from 1 to 10000000");
  EXPECT_EQ(error({"", {}, {{"events.keep", "99999999999999999999"}}}),
            "--events-keep: events.keep is \"99999999999999999999\"; expected a whole number from "
            "1 to 10000000");
  EXPECT_EQ(code_, Code::kUsage);
}

TEST_F(ConfigTest, ListenIsAnAddressAndAPort) {
  for (const char* good : {"127.0.0.1:0", "0.0.0.0:65535", "[::1]:7117", "localhost:80"})
    EXPECT_TRUE(config::load_config({"", {}, {{"http.listen", good}}})) << good;
  for (const char* bad :
       {"", "7117", ":7117", "127.0.0.1", "127.0.0.1:", "a:65536", "::1:80", "a:-1", "a:8 "})
    EXPECT_EQ(
        error({"", {}, {{"http.listen", bad}}}),
        fmt::format(
            "--http-listen: http.listen is \"{}\"; expected ADDRESS:PORT such as 127.0.0.1:7117",
            bad));
}

TEST_F(ConfigTest, TellsGivenValuesFromDefaults) {
  EXPECT_TRUE(config::load_config({})->given.empty());
  const auto config = config::load_config({file("chain = \"bitcoin\"\n[ready]\nmax_behind = 2\n"),
                                           {"COFFER_UTXO_ENABLED=true"},
                                           {{"network", "devnet"}}});
  ASSERT_TRUE(config) << config.error().message;
  std::set<std::string> keys;
  for (const auto& [key, origin] : config->given) keys.insert(key);
  EXPECT_EQ(keys, (std::set<std::string>{"chain", "network", "ready.max_behind", "utxo.enabled"}));
}

TEST_F(ConfigTest, TlsNeedsCertificateAndKey) {
  EXPECT_EQ(file_error("http.tls.cert = \"c\""),
            "http.tls.cert and http.tls.key belong together; http.tls.key is missing");
  EXPECT_EQ(error({"", {"COFFER_HTTP_TLS_KEY=k"}, {}}),
            "http.tls.cert and http.tls.key belong together; http.tls.cert is missing");
}

TEST_F(ConfigTest, SettingsOfTheUtxoState) {
  const auto defaults = config::load_config({});
  ASSERT_TRUE(defaults) << defaults.error().message;
  EXPECT_TRUE(defaults->of<utxo::Settings>().enabled);
  const auto options = utxo::options_of(defaults->of<utxo::Settings>()).value();
  EXPECT_EQ(options.store, utxo::StoreType::kClassic);
  EXPECT_EQ(options.prune_depth, 2'160u);
  EXPECT_EQ(options.rollback_window, 4'320u);
  EXPECT_EQ(options.prune_batch_size, 500u);
  EXPECT_TRUE(options.index_address && options.index_credential);
  EXPECT_FALSE(options.self_contained_delta);
  EXPECT_EQ(options.beyond_window, utxo::BeyondWindow::kRefuse);
  EXPECT_EQ(options.cache_bytes, 384u << 20);

  const auto config = config::load_config({file(R"(
genesis = "files"
[utxo]
enabled = false
store = "mmr"
pruneDepth = 10
rollbackWindow = 20
pruneBatchSize = 7
index = { address_hash = false, payment_credential = true }
delta.selfContained = true
cacheMb = 16
)"),
                                           {"COFFER_UTXO_PRUNE_DEPTH=11"},
                                           {{"utxo.rollback.beyondWindow", "refuse"}}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->genesis, "files");
  EXPECT_FALSE(config->of<utxo::Settings>().enabled);
  const auto other = utxo::options_of(config->of<utxo::Settings>()).value();
  EXPECT_EQ(other.store, utxo::StoreType::kMmr);
  EXPECT_EQ(other.prune_depth, 11u);
  EXPECT_EQ(other.rollback_window, 20u);
  EXPECT_EQ(other.prune_batch_size, 7u);
  EXPECT_FALSE(other.index_address);
  EXPECT_TRUE(other.index_credential);
  EXPECT_TRUE(other.self_contained_delta);
  EXPECT_EQ(other.cache_bytes, 16u << 20);
}

TEST_F(ConfigTest, IndexingStrategySetsBothFlagsOrContradictsThem) {  // U12
  const auto flags = [](std::string strategy, std::vector<config::FlagValue> more = {}) {
    more.push_back({"utxo.indexingStrategy", std::move(strategy)});
    const auto options =
        utxo::options_of(config::load_config({"", {}, more})->of<utxo::Settings>()).value();
    return std::pair(options.index_address, options.index_credential);
  };
  EXPECT_EQ(flags("both"), std::pair(true, true));
  EXPECT_EQ(flags("address_hash"), std::pair(true, false));
  EXPECT_EQ(flags("payment_credential"), std::pair(false, true));
  EXPECT_EQ(flags("address_hash", {{"utxo.index.payment_credential", "false"}}),
            std::pair(true, false));
  EXPECT_EQ(
      error({"", {}, {{"utxo.indexingStrategy", "both"}, {"utxo.index.address_hash", "false"}}}),
      "utxo.index.address_hash = false contradicts utxo.indexingStrategy = \"both\"; drop "
      "one of them");
  EXPECT_EQ(file_error("utxo.indexingStrategy = \"address_hash\"\n"
                       "utxo.index.payment_credential = true"),
            "utxo.index.payment_credential = true contradicts utxo.indexingStrategy = "
            "\"address_hash\"; drop one of them");
  EXPECT_EQ(code_, Code::kUsage);
}

TEST_F(ConfigTest, ContradictingUtxoSettingsAreRefused) {  // U1, U2
  EXPECT_NE(file_error("utxo.pruneDepth = 5000").find("utxo.rollbackWindow"), std::string::npos);
  EXPECT_NE(file_error("utxo.store = \"mmr\"\nutxo.rollback.beyondWindow = \"partial\"")
                .find("utxo.store = classic"),
            std::string::npos);
  EXPECT_EQ(file_error("utxo.store = \"sql\""),
            "my.toml:1: utxo.store is \"sql\"; expected one of classic, mmr");
  EXPECT_EQ(file_error("utxo.index.address_hash = 1"),
            "my.toml:1: utxo.index.address_hash is 1; expected true or false");
  EXPECT_EQ(file_error("utxo.prunedepth = 1"),
            "my.toml:1: unknown key utxo.prunedepth; did you mean utxo.pruneDepth?");
}

TEST_F(ConfigTest, GenesisFilesMustBeOfTheNetwork) {
  const auto preview = chain::find_network("cardano", "preview").value();
  config::Config config;
  EXPECT_TRUE(genesis_utxos(config, preview).value().empty());
  config.genesis = dir_.path().string();
  config.chain = "cardano";
  file(R"({"networkMagic":2,"initialFunds":{}})", "shelley-genesis.json");
  EXPECT_TRUE(genesis_utxos(config, preview).value().empty());
  config.network = "preprod";
  EXPECT_NE(configured_network(config).error().message.find("magic 2, not of preprod (1)"),
            std::string::npos);
  const auto bitcoin = chain::find_network("bitcoin", "mainnet").value();
  EXPECT_EQ(genesis_utxos(config, bitcoin).error().code, Code::kUsage);
  file("{}", "shelley-genesis.json");
  EXPECT_EQ(configured_network(config).error().code, Code::kInvalidInput);
  config.genesis = (dir_.path() / "nowhere").string();
  EXPECT_EQ(genesis_utxos(config, preview).error().code, Code::kNotFound);
}

TEST_F(ConfigTest, SecretsAreNotShown) {
  const std::string secret = "hunter2";
  for (const std::string& message :
       {file_error("source = \"rcp:http://me:" + secret + "@host\""),
        file_error("source = http://me:" + secret), file_error("source = [\"" + secret + "\"]"),
        error({"", {"COFFER_SOURCE=" + secret}, {}}),
        error({"", {"COFFER_RPC_PASSWORD=" + secret}, {}}), error({"", {}, {{"source", secret}}}),
        error({"", {}, {{"wallet.database", secret}}})}) {
    EXPECT_NE(message, "no error");
    EXPECT_EQ(message.find(secret), std::string::npos) << message;
  }
}

TEST_F(ConfigTest, MalformedAndMissingFiles) {
  EXPECT_TRUE(file_error("a = 1\nb = = 2\n").starts_with("my.toml:2:5: not valid TOML"));
  EXPECT_EQ(code_, Code::kUsage);
  EXPECT_TRUE(file_error("chain = \"bitcoin\"\nchain = \"cardano\"\n").starts_with("my.toml:2:"));
  EXPECT_NE(file_error("chain = \"\xff\""), "no error");
  EXPECT_NE(error({(dir_.path() / "absent.toml").string(), {}, {}}).find("absent.toml"),
            std::string::npos);
  EXPECT_EQ(code_, Code::kNotFound);
  EXPECT_NE(file_error(std::string((1u << 20) + 1, '#')), "no error");
  EXPECT_EQ(code_, Code::kTooLarge);
}

TEST_F(ConfigTest, LongOrUnprintableValueIsShortened) {
  const std::string message = error({"", {}, {{"chain", std::string(5'000, 'x') + "\n\x1b[2J"}}});
  EXPECT_LT(message.size(), 160u);
  EXPECT_EQ(error({"", {}, {{"chain", "a\nb"}}}),
            "--chain: chain is \"a\ufffdb\"; expected one of bitcoin, cardano");
}

TEST(ConfigKeys, NamesFollowOneRule) {
  EXPECT_EQ(config::variable_name("http.tls.cert"), "COFFER_HTTP_TLS_CERT");
  EXPECT_EQ(config::variable_name("utxo.pruneDepth"), "COFFER_UTXO_PRUNE_DEPTH");
  EXPECT_EQ(config::flag_name("utxo.delta.selfContained"), "--utxo-delta-self-contained");
  EXPECT_EQ(config::flag_name("data_dir"), "--data-dir");
}

TEST(ConfigKeys, NoTwoKeysShareAVariableFlagOrSlot) {
  std::set<std::string> names;
  std::set<config::Slot> slots;
  config::Config config;
  for (const config::Key& key : config::config_keys()) {
    EXPECT_TRUE(names.insert(config::variable_name(key.name)).second) << key.name;
    EXPECT_TRUE(names.insert(config::flag_name(key.name)).second) << key.name;
    EXPECT_TRUE(key.short_flag.empty() || names.insert(std::string(key.short_flag)).second);
    EXPECT_TRUE(slots.insert(key.slot(config)).second) << key.name;
    EXPECT_TRUE(key.help.ends_with(".")) << key.name;
    EXPECT_EQ(config::find_key(key.name), &key);
    // A key cannot also be a section of the file.
    for (const config::Key& other : config::config_keys())
      EXPECT_FALSE(other.name.starts_with(std::string(key.name) + ".")) << other.name;
  }
}

TEST(ConfigKeys, HelpAndDocumentationNameEveryKey) {
  const std::string help = "\n" + config::config_help(), markdown = config::config_markdown();
  for (const config::Key& key : config::config_keys()) {
    EXPECT_NE(help.find(fmt::format("\n{}", key.name)), std::string::npos);
    EXPECT_NE(markdown.find(fmt::format("| `{}` |", key.name)), std::string::npos);
  }
  EXPECT_TRUE(help.starts_with(
      "\ndata_dir = \"coffer-data\"  (default)\n    Directory where Coffer keeps its data.\n"
      "    Takes a directory. COFFER_DATA_DIR, --data-dir, --data\n"))
      << help;
}

}  // namespace
}  // namespace coffer::node
