// Numbers that rules for schedules were measured by (docs/experiments.md, Defaults).
#pragma once

namespace wkvc {

// Tokens of a sequence from which on a schedule pays.
namespace least_tokens {
constexpr int teams = 64, teams_of_many_heads = 512, teams_of_many_wide_heads = 384;
constexpr int many_teams = 128, cluster = 256, cluster_of_wide_heads = 128, two_teams_of_cluster = 512;
constexpr int segments_of_wide_heads = 2048, segments_of_packed = 2048, segments_of_clusters = 2048;
constexpr int segments_of_factors = 1024, segments_of_factors_with_gradients = 512, segments_of_long_chunks = 2048;
constexpr int segments_of_small_matrices = 512, many_segments_of_two_terms = 2048;
constexpr int narrow_with_gradients = 448, narrow_matrices_with_gradients = 640;
}  // namespace least_tokens

// Tokens that each segment should have.
namespace tokens_a_segment {
constexpr int with_teams = 700, three_of_clusters = 1024, few_of_factors = 320, of_few_heads = 128;
constexpr int few_of_matrices = 512, four_of_matrices = 1024, backward_of_wide_heads = 40;
constexpr int with_gradients = 64, two_blocks_with_gradients = 300;
}  // namespace tokens_a_segment

// Tokens that a block goes through while the map of one segment is combined with the ones before.
namespace tokens_a_map {
constexpr int of_wide_matrices = 32, of_narrow_factors = 16, of_small_matrices = 8, least = 4;
constexpr int with_gradients = 7, of_factors_with_gradients = 2;
constexpr int two_blocks_of_matrices = 20, two_blocks_of_factors = 4;  // with gradients
}  // namespace tokens_a_map

}  // namespace wkvc
