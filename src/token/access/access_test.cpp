#include "token/account/test_village.h"

namespace coffer::token {
namespace {

using village::id_of;
using village::kNow;
using village::outcome;

class TokenRoles : public village::VillageTest {};
COFFER_ON_EVERY_ENGINE(TokenRoles);

TEST_P(TokenRoles, AreGrantedAndRevokedOnce) {
  const ExternalIdentity ann{"https://id.example", "ann"}, ben{"https://id.example", "ben"};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store().grant_role(ann, Role::kOperator, operator_));
    ASSERT_TRUE(store().grant_role(ann, Role::kMember, operator_));
    ASSERT_TRUE(store().grant_role(ben, Role::kAuditor, operator_));
  }
  EXPECT_EQ(audits("grant_role"), 3);
  EXPECT_EQ(store().roles_of(ann), (std::vector{Role::kMember, Role::kOperator}));
  EXPECT_EQ(store().roles_of({"https://other.example", "ann"}), std::vector<Role>());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store().revoke_role(ann, Role::kOperator, operator_));
  }
  EXPECT_EQ(audits("revoke_role"), 1);
  EXPECT_EQ(store().roles_of(ann), std::vector{Role::kMember});
  const auto grants = store().role_grants({});
  ASSERT_TRUE(grants);
  ASSERT_EQ(grants->items.size(), 2u);
  EXPECT_EQ(grants->items[0].created_by, "user:operator");
  EXPECT_EQ(grants->items[0].created_at_ms, kNow);
  EXPECT_EQ(outcome(store().grant_role({"", "x"}, Role::kMember, operator_)), "invalid_input");
  EXPECT_EQ(outcome(store().grant_role(ann, Role::kMember, {""})), "invalid_input");
  EXPECT_EQ(outcome(store().revoke_role({"x", std::string(256, 's')}, Role::kMember, operator_)),
            "invalid_input");
}

TEST_P(TokenRoles, PagesOfGrantsAreComplete) {
  std::set<std::tuple<std::string, std::string, Role>> expected;
  for (int i = 0; i < 12; ++i)
    for (const Role role : {Role::kMember, Role::kIssuer}) {
      const ExternalIdentity who{fmt::format("https://{}.example", i % 3), fmt::format("s{}", i)};
      ASSERT_TRUE(store().grant_role(who, role, operator_));
      expected.emplace(who.issuer, who.subject, role);
    }
  for (const std::size_t count : {1u, 5u, 24u, 25u}) {
    std::set<std::tuple<std::string, std::string, Role>> found;
    PageOptions page{.count = count};
    do {
      const auto part = store().role_grants(page);
      ASSERT_TRUE(part) << part.error().message;
      for (const RoleGrant& each : part->items)
        EXPECT_TRUE(found.emplace(each.identity.issuer, each.identity.subject, each.role).second);
      page.cursor = part->cursor;
    } while (!page.cursor.empty());
    EXPECT_EQ(found, expected);
  }
}

class TokenKeys : public village::VillageTest {
 protected:
  MadeApiKey make(const std::string& name, std::int64_t duration_ms = 3'600'000) {
    const auto made = store().make_api_key(
        {.name = name, .scopes = {"transfer", "read", "read"}, .duration_ms = duration_ms},
        operator_);
    EXPECT_TRUE(made) << made.error().message;
    return made.value_or(MadeApiKey{});
  }
};
COFFER_ON_EVERY_ENGINE(TokenKeys);

TEST_P(TokenKeys, SecretIsShownOnceAndStoredAsItsHash) {
  const MadeApiKey made = make("shop");
  EXPECT_TRUE(made.secret.starts_with("ctk_"));
  EXPECT_GT(made.secret.size(), 40u);
  EXPECT_EQ(made.key.scopes, (std::vector<std::string>{"read", "transfer"}));
  EXPECT_EQ(made.key.expires_at_ms, kNow + 3'600'000);
  EXPECT_NE(make("shop").secret, made.secret);
  EXPECT_EQ(audits("make_api_key"), 2);
  const auto found = store().use_api_key(made.secret);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->id, made.key.id);
  EXPECT_EQ((*found)->name, "shop");
  EXPECT_EQ((*found)->scopes, made.key.scopes);
  EXPECT_EQ((*found)->created_by, "user:operator");
  // Neither the secret nor its text form stands anywhere in the table or the audit.
  const std::string text = made.secret.substr(4);
  EXPECT_EQ(count("@api_keys WHERE name LIKE '%" + text + "%' OR scopes LIKE '%" + text + "%'"), 0);
  EXPECT_EQ(count("@audit WHERE detail LIKE '%" + text + "%'"), 0);
  EXPECT_EQ(number(raw("SELECT count(*) FROM @api_keys WHERE secret_hash = $1"),
                   {ByteView(as_bytes(made.secret)).first(32)}),
            0);
}

TEST_P(TokenKeys, WrongSecretsFindNothing) {
  const MadeApiKey made = make("shop");
  std::string changed = made.secret;
  changed.back() = changed.back() == 'a' ? 'b' : 'a';
  for (const std::string& secret :
       {std::string(), std::string("ctk_"), changed, made.secret + "a", made.secret.substr(4),
        made.secret.substr(0, 20), std::string(1'000'000, 'c'), "ctk_" + std::string(70, 'x'),
        std::string("ctk_\0x", 6), std::string("ctk_\xff")}) {
    const auto found = store().use_api_key(secret);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, std::nullopt);
  }
}

TEST_P(TokenKeys, ExpiredAndRevokedKeysAreRefused) {
  const MadeApiKey brief = make("brief", 1'000), other = make("other");
  ASSERT_TRUE(*store().use_api_key(brief.secret));
  advance(999);
  ASSERT_TRUE(*store().use_api_key(brief.secret));
  advance(1);
  EXPECT_EQ(*store().use_api_key(brief.secret), std::nullopt);
  for (int i = 0; i < 2; ++i) {
    const auto revoked = store().revoke_api_key(other.key.id, operator_);
    ASSERT_TRUE(revoked) << revoked.error().message;
    EXPECT_EQ(revoked->revoked_at_ms, kNow + 1'000);
    EXPECT_EQ(*store().use_api_key(other.secret), std::nullopt);
    advance(10);
  }
  EXPECT_EQ(audits("revoke_api_key"), 1);
  EXPECT_EQ(outcome(store().revoke_api_key(id_of(99), operator_)), "not_found key_not_found");
}

TEST_P(TokenKeys, LastUseIsNotedOnceAMinute) {
  const MadeApiKey made = make("shop");
  const auto last_use = [&] { return store().api_keys({})->items.front().last_used_at_ms; };
  EXPECT_EQ(last_use(), std::nullopt);
  ASSERT_TRUE(*store().use_api_key(made.secret));
  EXPECT_EQ(last_use(), kNow);
  advance(59'999);
  ASSERT_TRUE(*store().use_api_key(made.secret));
  EXPECT_EQ(last_use(), kNow);
  advance(1);
  ASSERT_TRUE(*store().use_api_key(made.secret));
  EXPECT_EQ(last_use(), kNow + 60'000);
}

TEST_P(TokenKeys, BadRequestsAreRefused) {
  const std::int64_t before = count("@audit");
  const auto refused = [&](const NewApiKey& key) {
    return outcome(store().make_api_key(key, operator_));
  };
  EXPECT_EQ(refused({"", {"read"}, 1'000}), "invalid_input");
  EXPECT_EQ(refused({std::string(101, 'n'), {"read"}, 1'000}), "invalid_input");
  EXPECT_EQ(refused({"bad\xff", {"read"}, 1'000}), "invalid_input");
  EXPECT_EQ(refused({"key", {}, 1'000}), "invalid_input");
  EXPECT_EQ(refused({"key", {""}, 1'000}), "invalid_input");
  EXPECT_EQ(refused({"key", {"two words"}, 1'000}), "invalid_input");
  EXPECT_EQ(refused({"key", {"Upper"}, 1'000}), "invalid_input");
  EXPECT_EQ(refused({"key", {std::string(1'001, 's')}, 1'000}), "invalid_input");
  EXPECT_EQ(refused({"key", {"read"}, 0}), "invalid_input");
  EXPECT_EQ(refused({"key", {"read"}, -1}), "invalid_input");
  EXPECT_EQ(refused({"key", {"read"}, INT64_MAX}), "invalid_input");
  std::vector<std::string> many;
  many.reserve(65);
  for (int i = 0; i < 65; ++i) many.push_back(fmt::format("s{}", i));
  EXPECT_EQ(refused({"key", many, 1'000}), "invalid_input");
  EXPECT_EQ(count("@api_keys"), 0);
  EXPECT_EQ(count("@audit"), before);
}

TEST_P(TokenKeys, PagesOfKeysAreComplete) {
  std::set<Uuid> expected;
  for (int i = 0; i < 7; ++i) expected.insert(make(fmt::format("key {}", i)).key.id);
  for (const std::size_t count : {1u, 3u, 100u}) {
    std::set<Uuid> found;
    PageOptions page{.count = count};
    do {
      const auto part = store().api_keys(page);
      ASSERT_TRUE(part) << part.error().message;
      for (const ApiKey& each : part->items) EXPECT_TRUE(found.insert(each.id).second);
      page.cursor = part->cursor;
    } while (!page.cursor.empty());
    EXPECT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace coffer::token
