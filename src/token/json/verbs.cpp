#include "token/json/verbs.h"

#include <charconv>

#include "base/result.h"

namespace coffer::token {
namespace {

using namespace json::schema;
namespace kind = node::kind;
using node::required;
using node::typed;
using node::ValueKind;
using node::Verb;

const std::string kUuid = R"({"type":"string","format":"uuid"})";
const std::string kAmountIn =
    R"({"oneOf":[{"type":"string","pattern":"^[0-9]+$"},{"type":"integer","format":"int64",)"
    R"("minimum":1}]})";
const std::string kMetadata = R"({"type":"object"})";
const std::string kMemo = R"({"type":"string","maxLength":500})";
constexpr cli::Range kTimes = {1, std::uint64_t{1} << 53};

ValueKind<Uuid> uuid(std::string name) {
  return kind::parsed<Uuid>(
      [name = std::move(name)](std::string_view text) -> Result<Uuid> {
        return TRY_IN(name, parse_uuid(text));
      },
      kUuid, "UUID");
}

Result<WalletName> wallet_by_id(std::string_view name, std::string_view text) {
  return WalletName{std::string(text), TRY_IN(name, parse_uuid(text))};
}

// An id in a body; on the command line whatever names a wallet.
ValueKind<WalletName> wallet_name(const std::string& name) {
  auto kind = kind::parsed<WalletName>(
      [name](std::string_view text) { return wallet_by_id(name, text); }, kUuid);
  kind.from_words = [](const cli::Words& words) -> Result<WalletName> {
    const auto id = parse_uuid(words.back());
    return WalletName{words.back(), id ? std::optional(*id) : std::nullopt};
  };
  return kind;
}

// A string of digits, or a whole number.
ValueKind<std::int64_t> amount() {
  auto kind = kind::parsed<std::int64_t>(parse_amount, kAmountIn, "AMOUNT");
  kind.expected = "a whole number of tokens";
  kind.from_body = [](const json::ObjectReader& body,
                      std::string_view name) -> Result<std::optional<std::int64_t>> {
    const auto value = body.find(name);
    if (!value) return std::nullopt;
    const auto text = value->string();
    const auto parsed = parse_amount(text ? *text : value->serialize());
    if (!parsed) return fail(parsed.error());
    return *parsed;
  };
  return kind;
}

Result<std::string> object_text(const json::Value& value) {
  if (!value.is_object()) return fail(Code::kInvalidInput, "metadata: expected a JSON object");
  std::string text = value.serialize();
  if (text.size() > kMaxMetadataBytes)
    return fail(Code::kTooLarge, "metadata: {} bytes; at most {} are kept", text.size(),
                kMaxMetadataBytes);
  return text;
}

ValueKind<std::string> metadata() {
  ValueKind<std::string> kind{kMetadata, "a JSON object", {}, {}, {}};
  kind.option.value = "JSON";
  kind.from_body = [](const json::ObjectReader& body,
                      std::string_view name) -> Result<std::optional<std::string>> {
    const auto value = body.find(name);
    if (!value) return std::nullopt;
    return TRY(object_text(*value));
  };
  kind.from_words = [](const cli::Words& words) -> Result<std::string> {
    const json::Value value =
        TRY(cli::as_usage_error(json::parse(words.back(), {.max_bytes = 2 * kMaxMetadataBytes})));
    return cli::as_usage_error(object_text(value));
  };
  return kind;
}

ValueKind<std::vector<std::string>> scopes() {
  using Texts = std::vector<std::string>;
  ValueKind<Texts> kind{list_of(kText), "a list of scopes", {}, {}, {}};
  kind.option.value = "LIST";
  kind.from_body = [](const json::ObjectReader& body,
                      std::string_view name) -> Result<std::optional<Texts>> {
    if (!body.find(name)) return std::nullopt;
    Texts found;
    for (const json::Value& item : TRY(body.list(name, R"("read")", 32))) {
      auto text = item.string();
      if (!text) return fail(Code::kInvalidInput, "{}: expected a list of texts", name);
      found.push_back(*std::move(text));
    }
    return found;
  };
  kind.from_words = [](const cli::Words& words) -> Result<Texts> {
    Texts found;
    const std::string& all = words.back();
    for (std::size_t at = 0; at <= all.size();) {
      const std::size_t end = std::min(all.find(',', at), all.size());
      found.push_back(all.substr(at, end - at));
      at = end + 1;
    }
    return found;
  };
  return kind;
}

ValueKind<Role> role() {
  auto kind = kind::parsed<Role>(
      [](std::string_view text) -> Result<Role> { return TRY_IN("role", parse_role(text)); },
      R"({"type":"string","enum":["member","operator","issuer","auditor"]})", "ROLE");
  kind.option.choices = {"member", "operator", "issuer", "auditor"};
  return kind;
}

template <typename R>
Verb<R> with_id(Verb<R> verb, const char* help) {
  return verb.add("id", uuid("id"), &R::id,
                  {.name = "--id", .help = help, .value = "UUID", .required = true});
}

constexpr const char* kIdHelp =
    "Id of your choice; repeating the command with it changes nothing (default: a new one)";

Verb<NewOwner> new_owner_verb(const char* schema, const char* help) {
  return with_id(
      Verb<NewOwner>{schema}.add("name", kind::text(), &NewOwner::name, required("name", help)),
      kIdHelp);
}

Verb<Because> because_verb(const char* schema, bool must) {
  return Verb<Because>{schema}.add(
      "reason", kind::text(), &Because::reason,
      {.name = "--reason", .help = "Why; the audit keeps it", .value = "TEXT", .required = must});
}

Verb<WalletLimits> limits_verb() {
  return Verb<WalletLimits>{"TokenWalletLimits"}
      .add("per_transfer", amount(), &WalletLimits::per_transfer,
           typed("--per-transfer", "Most that one transfer may send"))
      .add("per_day", amount(), &WalletLimits::per_day,
           typed("--per-day", "Most that may be sent in a day (UTC)"));
}

Verb<TransferRequest> transfer_verb() {
  using R = TransferRequest;
  const Verb<R> verb =
      Verb<R>{"TokenNewTransfer"}
          .add("from", wallet_name("from"), &R::from, required("from", "Who pays: a name or an id"))
          .add("to", wallet_name("to"), &R::to, required("to", "Who receives: a name or an id"))
          .add("amount", amount(), &R::amount, required("amount", "In whole tokens"))
          .add("type", kind::whole({1, 99}), &R::type,
               typed("--type", "Type of the transaction, 1 to 99 (default: 1)", "N"))
          .add("memo", kind::text(kMemo), &R::memo, typed("--memo", "Up to 500 characters", "TEXT"))
          .add("metadata", metadata(), &R::metadata,
               typed("--metadata", "A JSON object of up to 4,096 bytes"))
          .add("created_unix_ms", kind::whole(kTimes), &R::created_at_ms,
               typed("--created", "When it was made, in milliseconds since 1970 (default: now)",
                     "MS"));
  return with_id(verb, kIdHelp);
}

Verb<HoldRequest> hold_verb() {
  using R = HoldRequest;
  const Verb<R> verb =
      Verb<R>{"TokenNewHold"}
          .add("wallet", wallet_name("wallet"), &R::wallet,
               required("wallet", "Whose tokens are held: a name or an id"))
          .add("to", wallet_name("to"), &R::to, required("to", "Who may get them: a name or an id"))
          .add("amount", amount(), &R::amount, required("amount", "In whole tokens"))
          .add("duration_ms", kind::duration({1, std::uint64_t{kMaxHoldMs}}), &R::duration_ms,
               required("--for", "How long: 10m, 2h, 30d"))
          .add("memo", kind::text(kMemo), &R::memo,
               typed("--memo", "Up to 500 characters", "TEXT"));
  return with_id(verb, kIdHelp);
}

Verb<Capture> capture_verb() {
  using R = Capture;
  return Verb<R>{"TokenCaptureHold"}
      .add("transaction", uuid("transaction"), &R::transaction,
           {.name = "--id", .help = kIdHelp, .value = "UUID", .required = true})
      .add("amount", amount(), &R::amount,
           typed("--amount", "Only so much; the rest is free again (default: all of it)"));
}

Verb<Reversal> reverse_verb() {
  using R = Reversal;
  const Verb<R> verb = Verb<R>{"TokenNewReversal"}
                           .add("transaction", uuid("transaction"), &R::transaction,
                                required("transaction", "The transaction that is sent back"))
                           .add("reason", kind::text(), &R::reason,
                                {.name = "--reason",
                                 .help = "Why; the audit keeps it",
                                 .value = "TEXT",
                                 .required = true});
  return with_id(verb, kIdHelp);
}

Verb<NewApiKey> make_key_verb() {
  using R = NewApiKey;
  return Verb<R>{"TokenNewApiKey"}
      .add("name", kind::text(), &R::name, required("name", "What it is for"))
      .add("scopes", scopes(), &R::scopes,
           required("--scopes",
                    "What it may do, with commas: audit, distribute, freeze, hold, issue, read, "
                    "reverse, transfer, users"))
      .add("duration_ms", kind::duration({1'000, std::uint64_t{kMaxHoldMs}}), &R::duration_ms,
           required("--for", "How long it is valid: 1h, 90d"));
}

template <typename R>
Verb<R> with_identity(Verb<R> verb) {
  return verb
      .add("issuer", kind::text(), &R::issuer,
           {.name = "--issuer",
            .help = "The provider, as in 'iss'",
            .value = "URL",
            .required = true})
      .add("subject", kind::text(), &R::subject,
           {.name = "--subject",
            .help = "Who it is there, as in 'sub'",
            .value = "TEXT",
            .required = true});
}

Verb<RoleRequest> role_verb() {
  using R = RoleRequest;
  Verb<R> verb = with_identity(Verb<R>{"TokenRoleRequest"}.add(
      "role", role(), &R::role, required("role", "member, operator, issuer or auditor")));
  verb.check = [](R& request) -> Result<> {
    request.identity = {request.issuer, request.subject};
    return {};
  };
  return verb;
}

}  // namespace

Result<std::int64_t> parse_amount(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value > 0 && text[0] != '+')
    return value;
  return fail(Code::kInvalidInput,
              "amount: '{}' is no amount; expected a whole number of tokens, 1 to {}",
              text.substr(0, 40), std::numeric_limits<std::int64_t>::max());
}

const Verbs& verbs() {
  static const Verbs all = {
      .create_user = new_owner_verb("TokenNewUser",
                                    "3 to 255 letters, digits, '_' and '-'; need not be unique"),
      .create_system_account =
          new_owner_verb("TokenNewSystemAccount", "3 to 255 lower-case letters, digits and '_'"),
      .rename = Verb<Rename>{"TokenRenameUser"}.add(
          "name", kind::text(), &Rename::name,
          required("name", "3 to 255 letters, digits, '_' and '-'")),
      .because = because_verb("TokenBecause", false),
      .with_reason = because_verb("TokenWithReason", true),
      .limits = limits_verb(),
      .identity = with_identity(Verb<IdentityRequest>{"TokenExternalIdentity"}),
      .transfer = transfer_verb(),
      .hold = hold_verb(),
      .capture = capture_verb(),
      .reverse = reverse_verb(),
      .make_key = make_key_verb(),
      .role = role_verb(),
  };
  return all;
}

const node::Verb<IssueRequest>& issue_verb() {
  using R = IssueRequest;
  static const Verb<R> verb = with_optional_id(
      with_id(Verb<R>{"TokenIssue"}
                  .add("amount", amount(), &R::amount, required("amount", "In whole tokens"))
                  .add("account", kind::text(), &R::account,
                       typed("--account",
                             "The system account that gets them (default: the only one)", "NAME"))
                  .add("memo", kind::text(kMemo), &R::memo,
                       typed("--memo", "Up to 500 characters", "TEXT")),
              kIdHelp));
  return verb;
}

Result<BatchRequest> parse_batch(std::string_view text) {
  const auto body = TRY(json::ObjectReader::parse(text, {"mode", "transfers"}));
  BatchRequest batch;
  const std::string mode = TRY(body.text("mode"));
  if (mode != "all" && mode != "each")
    return fail(Code::kInvalidInput, "mode: expected all or each");
  batch.mode = mode == "all" ? BatchMode::kAll : BatchMode::kEach;
  const auto items = TRY(body.list("transfers", R"({"id": "…", "from": "…"})", kMaxBatch));
  batch.transfers.reserve(items.size());
  for (const json::Value& item : items)
    batch.transfers.push_back(TRY_IN(fmt::format("transfers[{}]", batch.transfers.size()),
                                     node::parse_object(verbs().transfer, item)));
  return batch;
}

std::string batch_schema() {
  return object_of({{"mode", R"({"type":"string","enum":["all","each"]})"},
                    {"transfers", fmt::format(R"({{"type":"array","minItems":1,"maxItems":{},)"
                                              R"("items":{}}})",
                                              kMaxBatch, refer(verbs().transfer.schema))}},
                   {"mode", "transfers"}, true);
}

Transfer to_transfer(const TransferRequest& request, const Uuid& from, const Uuid& to) {
  return {.id = request.id.value_or(Uuid{}),
          .from = from,
          .to = to,
          .amount = request.amount,
          .type = request.type,
          .created_at_ms = request.created_at_ms,
          .memo = request.memo,
          .metadata = request.metadata};
}

}  // namespace coffer::token
