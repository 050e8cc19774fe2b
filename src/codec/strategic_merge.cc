#include "codec/strategic_merge.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codec/json_patch.h"

namespace strake::json {
namespace {

constexpr std::string_view kPatchDirective = "$patch";
constexpr std::string_view kRetainKeysDirective = "$retainKeys";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrderPrefix = "$setElementOrder/";

std::string_view key_view(const boost::json::key_value_pair& member) {
  return {member.key().data(), member.key().size()};
}

bool is_directive(std::string_view key) {
  return key == kPatchDirective || key == kRetainKeysDirective || key.starts_with(kDeletePrefix) ||
         key.starts_with(kOrderPrefix);
}

const Value* directive_of(const Value& value) {
  const Object* object = value.if_object();
  return object == nullptr ? nullptr : object->if_contains(kPatchDirective);
}

/// A place in the object. The way back to the root is kept and not the text of it: only errors need that, and a patch
/// of long names would otherwise be copied for each of its members.
struct FieldPlace {
  const FieldPlace* parent = nullptr;
  std::string_view key;
  bool is_element = false;
  /// "spec.containers[].env" as the schema spells it; absent where no field of the schema lies at or below it.
  std::optional<std::string> lookup = "";

  /// "spec.containers[app].env", as the user wrote it.
  std::string shown() const {
    constexpr std::size_t kMaxShownBytes = 1000;
    std::vector<const FieldPlace*> way;
    for (const FieldPlace* place = this; place->parent != nullptr; place = place->parent) way.push_back(place);
    std::string text;
    for (auto place = way.rbegin(); place != way.rend() && text.size() < kMaxShownBytes; ++place) {
      const std::string_view name = (*place)->key.substr(0, kMaxShownBytes);
      text += (*place)->is_element ? fmt::format("[{}]", name) : fmt::format("{}{}", text.empty() ? "" : ".", name);
    }
    return text;
  }
};

Error place_error(const FieldPlace& place, std::string_view message) {
  const std::string shown = place.shown();
  return error(Code::kInvalidArgument, "{}: {}", shown.empty() ? "the patch" : shown, message);
}

enum class MarkedObjects { kDrop, kKeep };

/// What a value of the patch becomes where there is nothing to merge it with. Nulls mean "absent" in a patch, and
/// directives are no data. An object marked with `$patch` is dropped where it is new (there is nothing to delete or
/// replace) but kept inside something that replaces the old value.
std::optional<Value> plain_copy(const Value& patch, MarkedObjects marked) {
  if (const Object* object = patch.if_object()) {
    if (marked == MarkedObjects::kDrop && object->contains(kPatchDirective)) return std::nullopt;
    Object copy;
    copy.reserve(object->size());
    for (const auto& member : *object) {
      if (member.value().is_null() || is_directive(key_view(member))) continue;
      if (auto value = plain_copy(member.value(), marked)) copy.emplace(member.key(), std::move(*value));
    }
    return Value(std::move(copy));
  }
  if (const Array* array = patch.if_array()) {
    Array copy;
    copy.reserve(array->size());
    for (const Value& element : *array) {
      if (auto value = plain_copy(element, marked)) copy.push_back(std::move(*value));
    }
    return Value(std::move(copy));
  }
  return patch;
}

/// The text by which elements are told apart.
using ElementId = std::string;

/// Where each element comes first in a list.
using ElementRanks = std::unordered_map<ElementId, std::size_t>;

/// A list whose elements have identities: by a member of each object, or by the value itself.
class IdentifiedList {
 public:
  IdentifiedList(const FieldPlace& place, const MergeField& field) : place_(place), field_(field) {}

  Result<ElementId> id_of(const Value& element) const {
    if (field_.rule != MergeRule::kMergeByKey) {
      if (element.is_structured() || element.is_null()) {
        return place_error(place_, fmt::format("an element must be a plain value, not {}", type_name(element)));
      }
      return write(element);
    }
    const Object* object = element.if_object();
    if (object == nullptr) {
      return place_error(place_, fmt::format("an element must be an object, not {}", type_name(element)));
    }
    const Value* key = object->if_contains(field_.key);
    if (key == nullptr) {
      return place_error(
          place_, fmt::format("an element has no \"{}\", which tells the elements of this list apart", field_.key));
    }
    return write(*key);
  }

  Result<ElementRanks> ranks_of(const Array& list) const {
    ElementRanks ranks;
    for (const Value& element : list) {
      STRAKE_TRY(ElementId id, id_of(element));
      ranks.emplace(std::move(id), ranks.size());
    }
    return ranks;
  }

  Status check_ids(const Array& list) const {
    for (const Value& element : list) {
      if (auto id = id_of(element); !id.ok()) return std::move(id).error();
    }
    return {};
  }

  /// Elements named in `wanted` get that order; the others keep their order of `before` and are woven in where they
  /// stood relative to the named ones.
  Result<Array> in_order(Array elements, const Array& wanted, const ElementRanks& before) const {
    STRAKE_TRY(const ElementRanks wanted_ranks, ranks_of(wanted));
    struct Ranked {
      std::size_t rank;
      std::size_t position;  ///< elements of equal rank keep their order
      std::optional<std::size_t> old_rank;
      Value* element;
    };
    std::vector<Ranked> named;
    std::vector<Ranked> others;
    for (Value& element : elements) {
      STRAKE_TRY(const ElementId id, id_of(element));
      const auto old_rank = before.find(id);
      Ranked ranked{0, named.size() + others.size(), std::nullopt, &element};
      if (old_rank != before.end()) ranked.old_rank = old_rank->second;
      if (const auto rank = wanted_ranks.find(id); rank != wanted_ranks.end()) {
        ranked.rank = rank->second;
        named.push_back(ranked);
      } else {
        ranked.rank = ranked.old_rank.value_or(before.size());
        others.push_back(ranked);
      }
    }
    const auto by_rank = [](const Ranked& a, const Ranked& b) {
      return std::tie(a.rank, a.position) < std::tie(b.rank, b.position);
    };
    std::sort(named.begin(), named.end(), by_rank);
    std::sort(others.begin(), others.end(), by_rank);

    Array ordered;
    ordered.reserve(elements.size());
    auto other = others.begin();
    for (const Ranked& next : named) {
      while (other != others.end() && other->old_rank && next.old_rank && *other->old_rank < *next.old_rank) {
        ordered.push_back(std::move(*other++->element));
      }
      ordered.push_back(std::move(*next.element));
    }
    for (; other != others.end(); ++other) ordered.push_back(std::move(*other->element));
    return ordered;
  }

 private:
  const FieldPlace& place_;
  const MergeField& field_;
};

class StrategicMerger {
 public:
  explicit StrategicMerger(const MergeSchema& schema) : schema_(schema) {}

  Result<Object> merge_objects(Object original, const Object& patch, const FieldPlace& place) const {
    if (const Value* directive = patch.if_contains(kPatchDirective)) {
      return replaced_object(*directive, patch, place);
    }
    STRAKE_CHECK_OK(apply_retain_keys(original, patch, place));
    std::vector<std::string_view> doomed;
    for (const auto& member : patch) {
      const std::string_view key = key_view(member);
      if (!is_directive(key)) {
        STRAKE_CHECK_OK(merge_member(original, patch, key, member.value(), place, doomed));
      } else if (key.starts_with(kOrderPrefix)) {
        STRAKE_CHECK_OK(order_untouched_list(original, patch, key.substr(kOrderPrefix.size()), member.value(), place));
      }
    }
    erase_members(original, doomed);
    // After the additions, so that a value both added and deleted is gone whatever the order of the members.
    for (const auto& member : patch) {
      const std::string_view key = key_view(member);
      if (key.starts_with(kDeletePrefix)) {
        STRAKE_CHECK_OK(delete_values(original, key.substr(kDeletePrefix.size()), member.value(), place));
      } else if (key.starts_with('$') && !is_directive(key)) {
        return place_error(place, fmt::format("unknown directive \"{}\"", key));
      }
    }
    return original;
  }

 private:
  const MergeField* rule_for(const FieldPlace& place) const {
    if (!place.lookup) return nullptr;
    const auto found = std::find_if(schema_.fields.begin(), schema_.fields.end(),
                                    [&](const MergeField& field) { return field.path == *place.lookup; });
    return found == schema_.fields.end() ? nullptr : &*found;
  }

  bool leads_to_a_field(std::string_view lookup) const {
    return std::any_of(schema_.fields.begin(), schema_.fields.end(), [&](const MergeField& field) {
      return field.path.starts_with(lookup) && (field.path.size() == lookup.size() ||
                                                field.path[lookup.size()] == '.' || field.path[lookup.size()] == '[');
    });
  }

  FieldPlace member_of(const FieldPlace& parent, std::string_view key) const {
    FieldPlace place{&parent, key, false, std::nullopt};
    // A key that holds a separator is no field of a built-in type; it must not look like a path to one.
    constexpr std::size_t kLongestFieldName = 64;
    if (!parent.lookup || key.size() > kLongestFieldName || key.find_first_of(".[") != key.npos) return place;
    std::string lookup = fmt::format("{}{}{}", *parent.lookup, parent.lookup->empty() ? "" : ".", key);
    if (leads_to_a_field(lookup)) place.lookup = std::move(lookup);
    return place;
  }

  FieldPlace element_of(const FieldPlace& parent, std::string_view id) const {
    FieldPlace place{&parent, id, true, std::nullopt};
    if (!parent.lookup) return place;
    std::string lookup = *parent.lookup + "[]";
    if (leads_to_a_field(lookup)) place.lookup = std::move(lookup);
    return place;
  }

  static Result<Object> replaced_object(const Value& directive, const Object& patch, const FieldPlace& place) {
    if (directive == "replace") return plain_copy(patch, MarkedObjects::kKeep)->get_object();
    if (directive == "delete") return Object();
    return place_error(place, fmt::format("$patch must be \"replace\" or \"delete\", not {}", write(directive)));
  }

  static Status apply_retain_keys(Object& original, const Object& patch, const FieldPlace& place) {
    const Value* directive = patch.if_contains(kRetainKeysDirective);
    if (directive == nullptr) return {};
    const Array* list = directive->if_array();
    if (list == nullptr) return place_error(place, "$retainKeys must be a list of member names");
    std::unordered_set<std::string_view> retained;
    for (const Value& name : *list) {
      if (!name.is_string()) return place_error(place, "$retainKeys must be a list of member names");
      retained.insert(as_view(name.get_string()));
    }
    for (const auto& member : patch) {
      const std::string_view key = key_view(member);
      if (!member.value().is_null() && !is_directive(key) && !retained.contains(key)) {
        return place_error(place, fmt::format("the patch sets \"{}\", which $retainKeys does not list", key));
      }
    }
    Object kept;
    kept.reserve(original.size());
    for (auto& member : original) {
      if (retained.contains(key_view(member))) kept.emplace(member.key(), std::move(member.value()));
    }
    original = std::move(kept);
    return {};
  }

  /// The `$setElementOrder` list that goes with the list `key` of the patch; nullptr without one.
  static Result<const Array*> order_for(const Object& patch, std::string_view key, const FieldPlace& place) {
    const Value* order = patch.if_contains(fmt::format("{}{}", kOrderPrefix, key));
    if (order == nullptr) return nullptr;
    if (!order->is_array()) return place_error(place, "$setElementOrder must be a list");
    return &order->get_array();
  }

  Status merge_member(Object& original, const Object& patch, std::string_view key, const Value& change,
                      const FieldPlace& parent, std::vector<std::string_view>& doomed) const {
    const FieldPlace place = member_of(parent, key);
    STRAKE_TRY(const Array* order, order_for(patch, key, place));
    if (order != nullptr && !change.is_array()) return place_error(place, "$setElementOrder needs a list in the patch");
    if (change.is_null()) {
      if (original.contains(key)) doomed.push_back(key);
      return {};
    }
    const MergeField* field = rule_for(place);
    Value* old = original.if_contains(key);
    if (order != nullptr) {
      STRAKE_CHECK_OK(check_order(change.get_array(), *order, field, place));
      if (old != nullptr && !old->is_array())
        return place_error(place, "$setElementOrder is given, but this is no list");
    }
    if (old != nullptr && old->is_object() && change.is_object()) {
      STRAKE_TRY(*old, merge_object_field(std::move(old->get_object()), change, field, place));
      return {};
    }
    if (old != nullptr && old->is_array() && change.is_array()) {
      STRAKE_TRY(*old, merge_list_field(std::move(old->get_array()), change.get_array(), order, field, place));
      return {};
    }
    auto added = plain_copy(change, MarkedObjects::kDrop);
    if (!added) {
      if (original.contains(key)) doomed.push_back(key);
      return {};
    }
    if (order != nullptr) {
      const IdentifiedList list(place, *field);
      STRAKE_TRY(*added, list.in_order(std::move(added->get_array()), *order, {}));
    }
    original.insert_or_assign(key, std::move(*added));
    return {};
  }

  Result<Value> merge_object_field(Object old, const Value& change, const MergeField* field,
                                   const FieldPlace& place) const {
    if (field != nullptr && field->rule == MergeRule::kReplaceObject) return *plain_copy(change, MarkedObjects::kKeep);
    STRAKE_TRY(Object merged, merge_objects(std::move(old), change.get_object(), place));
    return Value(std::move(merged));
  }

  Result<Value> merge_list_field(Array old, const Array& change, const Array* order, const MergeField* field,
                                 const FieldPlace& place) const {
    if (field == nullptr || field->rule == MergeRule::kReplaceObject) {
      return *plain_copy(change, MarkedObjects::kKeep);
    }
    const IdentifiedList list(place, *field);
    STRAKE_TRY(const ElementRanks before, list.ranks_of(old));
    STRAKE_TRY(Array merged, field->rule == MergeRule::kMergeByKey ? merge_elements(std::move(old), change, list, place)
                                                                   : merge_values(std::move(old), change, list));
    if (order != nullptr) {
      STRAKE_TRY(merged, list.in_order(std::move(merged), *order, before));
    }
    return Value(std::move(merged));
  }

  /// A set: each value once, those of the patch in the order of the patch.
  static Result<Array> merge_values(Array old, const Array& change, const IdentifiedList& list) {
    STRAKE_TRY(const ElementRanks before, list.ranks_of(old));
    std::unordered_set<ElementId> seen;
    Array merged;
    for (const Array* source : {static_cast<const Array*>(&old), &change}) {
      for (const Value& value : *source) {
        STRAKE_TRY(ElementId id, list.id_of(value));
        if (seen.insert(std::move(id)).second) merged.push_back(value);
      }
    }
    return list.in_order(std::move(merged), change, before);
  }

  Result<Array> merge_elements(Array old, const Array& change, const IdentifiedList& list,
                               const FieldPlace& place) const {
    Array additions;  // the patch without the elements that only carry a directive
    std::unordered_set<ElementId> deleted;
    bool replaces = false;
    for (const Value& element : change) {
      const Value* directive = directive_of(element);
      if (directive == nullptr) {
        additions.push_back(element);
      } else if (*directive == "replace") {
        replaces = true;
      } else if (*directive == "delete") {
        STRAKE_TRY(ElementId id, list.id_of(element));
        deleted.insert(std::move(id));
      } else {
        return place_error(place, fmt::format("$patch must be \"replace\" or \"delete\", not {}", write(*directive)));
      }
    }
    if (replaces) {
      STRAKE_CHECK_OK(list.check_ids(additions));
      return plain_copy(additions, MarkedObjects::kKeep)->get_array();
    }

    Array merged;
    ElementRanks position;  // of the first element with an identity: the one the patch merges into
    for (Value& element : old) {
      STRAKE_TRY(ElementId id, list.id_of(element));
      if (deleted.contains(id)) continue;
      position.emplace(std::move(id), merged.size());
      merged.push_back(std::move(element));
    }
    STRAKE_TRY(const ElementRanks before, list.ranks_of(merged));
    for (const Value& element : additions) {
      STRAKE_TRY(const ElementId id, list.id_of(element));
      const auto [found, is_new] = position.emplace(id, merged.size());
      if (is_new) {
        merged.push_back(*plain_copy(element, MarkedObjects::kKeep));
        continue;
      }
      Object& target = merged[found->second].get_object();
      STRAKE_TRY(Object combined, merge_objects(std::move(target), element.get_object(), element_of(place, id)));
      merged[found->second] = std::move(combined);
    }
    return list.in_order(std::move(merged), additions, before);
  }

  /// The elements the patch sets must appear in its `$setElementOrder` list, in the same order.
  static Status check_order(const Array& change, const Array& order, const MergeField* field, const FieldPlace& place) {
    if (field == nullptr || field->rule == MergeRule::kReplaceObject) {
      return place_error(place, "$setElementOrder is given, but this list is replaced as a whole");
    }
    if (order.empty()) return {};
    const IdentifiedList list(place, *field);
    std::vector<ElementId> expected;
    for (const Value& element : order) {
      STRAKE_TRY(ElementId id, list.id_of(element));
      expected.push_back(std::move(id));
    }
    auto from = expected.begin();
    for (const Value& element : change) {
      if (directive_of(element) != nullptr) continue;
      STRAKE_TRY(const ElementId id, list.id_of(element));
      from = std::find(from, expected.end(), id);
      if (from == expected.end()) {
        return place_error(place, fmt::format("element {} is not where $setElementOrder puts it: list every element of "
                                              "the patch there, in the same order",
                                              id));
      }
      ++from;
    }
    return {};
  }

  /// `$setElementOrder` for a list the patch does not change otherwise.
  Status order_untouched_list(Object& original, const Object& patch, std::string_view key, const Value& directive,
                              const FieldPlace& parent) const {
    const FieldPlace place = member_of(parent, key);
    if (!directive.is_array()) return place_error(place, "$setElementOrder must be a list");
    if (patch.contains(key)) return {};  // merge_member took care of it
    Value* old = original.if_contains(key);
    if (old == nullptr) return {};
    if (!old->is_array()) return place_error(place, "$setElementOrder is given, but this is no list");
    const MergeField* field = rule_for(place);
    STRAKE_CHECK_OK(check_order({}, directive.get_array(), field, place));
    const IdentifiedList list(place, *field);
    STRAKE_TRY(const ElementRanks before, list.ranks_of(old->get_array()));
    STRAKE_TRY(*old, list.in_order(std::move(old->get_array()), directive.get_array(), before));
    return {};
  }

  Status delete_values(Object& original, std::string_view key, const Value& directive, const FieldPlace& parent) const {
    const FieldPlace place = member_of(parent, key);
    const Array* doomed = directive.if_array();
    if (doomed == nullptr) return place_error(place, "$deleteFromPrimitiveList must be a list");
    const MergeField plain_values{"", MergeRule::kMergeValues};
    const IdentifiedList list(place, plain_values);
    STRAKE_TRY(const ElementRanks ids, list.ranks_of(*doomed));
    Value* old = original.if_contains(key);
    if (old == nullptr) return {};
    if (!old->is_array()) return place_error(place, "$deleteFromPrimitiveList is given, but this is no list");
    Array kept;
    for (Value& value : old->get_array()) {
      STRAKE_TRY(const ElementId id, list.id_of(value));
      if (!ids.contains(id)) kept.push_back(std::move(value));
    }
    *old = std::move(kept);
    return {};
  }

  const MergeSchema& schema_;
};

}  // namespace

Result<Value> apply_strategic_merge(Value original, const Value& patch, const MergeSchema& schema) {
  if (!original.is_object() || !patch.is_object()) {
    return error(Code::kInvalidArgument, "a strategic merge patch needs two objects, not {} and {}",
                 type_name(original), type_name(patch));
  }
  STRAKE_TRY(Object merged,
             StrategicMerger(schema).merge_objects(std::move(original.get_object()), patch.get_object(), {}));
  return Value(std::move(merged));
}

}  // namespace strake::json
