#include "token/json/log.h"

#include "token/json/fields.h"

namespace coffer::token {
namespace {

void write_position(json::Writer& out, const CheckedProof& checked) {
  write_optional(out, "position", checked.position);
  out.key("entry");
  if (checked.entry)
    out.raw(to_text(*checked.entry));
  else
    out.null();
}

}  // namespace

std::string log_status_json(const LogStatus& status) {
  json::Writer out;
  out.begin_object().field("size", status.size).field("root", status.root.hex());
  out.field("unlogged", status.unlogged).field("delay_ms", status.delay_ms());
  write_optional(out, "public_key",
                 status.public_key ? std::optional(status.public_key->hex()) : std::nullopt);
  out.key("checkpoint");
  if (status.checkpoint)
    write_checkpoint(out, *status.checkpoint);
  else
    out.null();
  out.end_object();
  return out.take();
}

std::string checkpoints_json(const Page<Checkpoint>& page) {
  return page_json("checkpoints", page, write_checkpoint);
}

std::string checked_proof_json(const CheckedProof& checked) {
  json::Writer out;
  out.begin_object().field("community", checked.community);
  out.field("public_key", checked.public_key.hex()).field("is_key_known", checked.is_key_known);
  out.key("checkpoint");
  write_checkpoint(out, checked.checkpoint);
  write_position(out, checked);
  write_optional(out, "memo", checked.memo);
  write_object(out, "metadata", checked.metadata);
  out.key("older");
  if (checked.older)
    write_checkpoint(out, *checked.older);
  else
    out.null();
  out.end_object();
  return out.take();
}

}  // namespace coffer::token
