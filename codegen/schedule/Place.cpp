#include "codegen/schedule/Place.h"

#include <array>

#include "codegen/target/Target.h"

namespace wkvc {
namespace {

constexpr int most_phases = 1000;

// The words of enumerations, in their order.
constexpr std::array<std::string_view, 4> owners{"anyone", "slab", "matrix", "rows"};
constexpr std::array<std::string_view, 2> columns{"keys", "values"};
constexpr std::array<std::string_view, 4> storages{"registers", "shared", "held", "stand_in"};
constexpr std::array<std::string_view, 2> prepared{"blocks", "strips"};
constexpr std::array<std::string_view, 2> finished{"blocks", "shares"};
constexpr std::array<std::string_view, 2> sweeps{"apart", "together"};

template <auto member, class T>
int get(const T& of) {
  return static_cast<int>(of.*member);
}

template <auto member, class T>
void set(T& of, int value) {
  of.*member = static_cast<std::remove_reference_t<decltype(of.*member)>>(value);
}

template <class T, auto member>
constexpr Field<T> words(std::string_view name, std::span<const std::string_view> known) {
  return {{}, name, known, 0, static_cast<int>(known.size()) - 1, get<member, T>, set<member, T>};
}

template <class T, auto member>
constexpr Field<T> number(std::string_view name, int least, int most) {
  return {{}, name, {}, least, most, get<member, T>, set<member, T>};
}

constexpr std::array<Field<ValuePlace>, 6> of_place{
    words<ValuePlace, &ValuePlace::owner>("owner", owners),
    words<ValuePlace, &ValuePlace::columns>("columns", columns),
    number<ValuePlace, &ValuePlace::warp>("warp", 0, sm_90a.block.warps),
    number<ValuePlace, &ValuePlace::phase>("phase", 0, most_phases),
    number<ValuePlace, &ValuePlace::last>("last", 0, most_phases),
    words<ValuePlace, &ValuePlace::storage>("storage", storages),
};

constexpr std::array<Field<Phases>, 8> of_phases{
    number<Phases, &Phases::warps>("warps", 1, sm_90a.block.warps),
    number<Phases, &Phases::whole>("whole", 0, most_phases),
    number<Phases, &Phases::prepare>("prepare", 0, most_phases),
    words<Phases, &Phases::prepared>("prepared", prepared),
    number<Phases, &Phases::states>("states", 0, most_phases),
    words<Phases, &Phases::together>("sweeps", sweeps),
    number<Phases, &Phases::finish>("finish", 0, most_phases),
    words<Phases, &Phases::finished>("finished", finished),
};

}  // namespace

std::span<const Field<ValuePlace>> place_fields() { return of_place; }
std::span<const Field<Phases>> phases_fields() { return of_phases; }

std::string_view name_of(Owner owner) { return owners[static_cast<std::size_t>(owner)]; }
std::string_view name_of(Storage storage) { return storages[static_cast<std::size_t>(storage)]; }

std::string text_of(const ValuePlace& place) {
  ValuePlace unset;
  unset.owner = static_cast<Owner>(-1);
  unset.phase = -1;
  unset.last = place.phase;
  return text_of(place_fields(), place, unset);
}

std::string text_of(const Phases& phases) {
  Phases unset;
  unset.warps = 0;
  return text_of(phases_fields(), phases, unset);
}

}  // namespace wkvc
