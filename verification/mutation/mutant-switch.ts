/** The global function that says whether the mutant of that id is on. */
export const MUTANT_SWITCH = 'isMutantOn';
