// The commands that reserve tokens, and take or free what is reserved.
#include "cli/output.h"
#include "token/commands/commands.h"
#include "token/commands/view.h"
#include "token/json/input.h"
#include "token/json/output.h"

namespace coffer::token {
namespace {

Result<Uuid> typed_hold(const std::string& text) {
  return cli::as_usage_error(parse_id("hold", text));
}

Result<> run_hold_open(const TokenCommand& on, const HoldRequest& given) {
  const Party payer = TRY(find_party(on.store, given.wallet));
  const Party to = TRY(find_party(on.store, given.to));
  const NewHold wanted{.id = given.id.value_or(random_uuid()),
                       .wallet = payer.wallet,
                       .to = to.wallet,
                       .amount = given.amount,
                       .duration_ms = given.duration_ms,
                       .memo = given.memo};
  const Hold hold = TRY(cli::as_usage_error(on.store.open_hold(wanted, on.actor())));
  return print_result(
      on.context, hold_json(hold),
      fmt::format("{} of {} held for {} until {}\nhold {}\n", tokens_text(hold.amount), payer.name,
                  to.name, time_text(hold.expires_at_ms), to_string(hold.id)));
}

Result<> run_hold_capture(const TokenCommand& on, const Capture& given) {
  const Uuid id = TRY(typed_hold(on.argument("hold")));
  const Hold hold = TRY(cli::as_usage_error(on.store.capture_hold(
      id, given.transaction.value_or(random_uuid()), given.amount, on.actor())));
  return print_result(
      on.context, hold_json(hold),
      fmt::format("{} of {} captured\n", tokens_text(hold.captured), tokens_text(hold.amount)));
}

Result<> run_hold_release(const TokenCommand& on, const Because& given) {
  const Uuid id = TRY(typed_hold(on.argument("hold")));
  const Hold hold = TRY(cli::as_usage_error(on.store.release_hold(id, on.actor(given.reason))));
  return print_result(on.context, hold_json(hold),
                      fmt::format("{} released\n", tokens_text(hold.amount)));
}

Result<> run_hold_list(const Context& context, const Store& store, const TokenQuery& given) {
  http::Fields query = given.query;
  if (!given.name.empty()) query.push_back({"wallet", given.name});
  TRY(resolve_wallet(store, query, "wallet"));
  TRY(resolve_wallet(store, query, "recipient"));
  const Store::HoldQuery wanted = TRY(cli::as_usage_error(parse_hold_query(query)));
  const Page<Hold> page = TRY(store.holds(wanted));
  return print_result(context, holds_json(page), render_holds(page));
}

Result<> run_hold_show(const Context& context, const Store& store, const TokenQuery& given) {
  const Uuid id = TRY(typed_hold(given.name));
  const auto hold = TRY(store.find_hold(id));
  if (!hold) return fail(Code::kNotFound, "no hold {}; see 'coffer token hold list'", given.name);
  return print_result(context, hold_json(*hold), render_hold(*hold));
}

}  // namespace

std::vector<cli::Command> hold_commands() {
  const cli::Option hold = node::required("hold", "Its id");
  TokenQueryField wallet = {
      "wallet", &TokenQuery::name, "Whose tokens are held: a name or an id", {.optional = true}};
  return {
      token_group("hold", "Tokens that are reserved for a recipient"),
      token_verb(token_command({"hold", "open"}, "Reserve tokens of a wallet for a recipient",
                               "  coffer token hold open alice shop 20 --for 2h --memo order-17\n"),
                 {}, with_optional_id(verbs().hold), run_hold_open),
      token_verb(token_command({"hold", "capture"}, "Move reserved tokens to their recipient",
                               "  coffer token hold capture HOLD\n"
                               "  coffer token hold capture HOLD --amount 15\n"),
                 {hold}, with_optional_id(verbs().capture, "transaction"), run_hold_capture),
      token_verb(token_command({"hold", "release"}, "Free reserved tokens",
                               "  coffer token hold release HOLD --reason 'out of stock'\n"),
                 {hold}, verbs().because, run_hold_release),
      token_query(token_command({"hold", "list"}, "List the holds of a wallet, or for a recipient",
                                "  coffer token hold list alice --open\n"
                                "  coffer token hold list --recipient shop\n"),
                  {wallet, token_option("--recipient", "NAME", "Those that this one may capture"),
                   node::query_flag<TokenQuery>("--open", {"open", "true"}, "Only open ones"),
                   page_count_option(), page_cursor_option()},
                  run_hold_list),
      token_query(
          token_command({"hold", "show"}, "Show one hold", "  coffer token hold show HOLD\n"),
          {{"hold", &TokenQuery::name, "Its id"}}, run_hold_show),
  };
}

}  // namespace coffer::token
